"""Documents as people send them, and as those send them who mean harm."""

import zipfile
from base64 import b64decode
from collections.abc import Mapping
from io import BytesIO
from zlib import decompress

from thinker.formats.documents import OFFICE

DOCX = f"{OFFICE}.wordprocessingml.document"
XLSX = f"{OFFICE}.spreadsheetml.sheet"
PPTX = f"{OFFICE}.presentationml.presentation"
XLS = "application/vnd.ms-excel"
ODT = "application/vnd.oasis.opendocument.text"
XML = '<?xml version="1.0" encoding="UTF-8"?>'
WORDS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
NAMED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def pdf(*pages: str, trailer: str = "") -> bytes:
    """A PDF with these lines of ASCII, one a page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, text in enumerate(pages):
        shown = f"BT /F1 12 Tf 9 9 Td ({text}) Tj ET"
        font = "/Resources<</Font<</F1 3 0 R>>>>/MediaBox[0 0 9999 30]"
        objects += [
            f"<</Type/Page/Parent 2 0 R/Contents {5 + 2 * number} 0 R{font}>>",
            f"<</Length {len(shown)}>>stream\n{shown}\nendstream",
        ]
    written = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj{body}endobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer<</Size {size}/Root 1 0 R{trailer}>>"
    return written + f"{end}\nstartxref\n{len(written)}\n%%EOF\n".encode()


# A workbook of Excel 97 with the cells Größe, Preis, Müller and 5.5, as xlwt writes it; compressed.
_XLS = (
    "eNrtWD1oFEEU/mZzl/shudzFi5AI4QwYNaYRG5tko6CpEk4bRQRzMVuEHBdZbbTQaLxSEKz8aQJpbKI2/qCFNmIhRL"
    "QQBPFOy1SCisXl1jff7cpFU+RAQ5T5lvnm7Zs3M+9m3szc7KvFVGnuXlcZv2AQTah6MTTX6ZSkWPCShJR7nhaDPCrJ"
    "M/inEIvKRDaH8bj1ZUTPoZ7vMizcDT0TBj5KOo5TGJ0uOJl1xH76kFPahwFhhVuiSaCTXrWTT5I3ke/Q8gl5iJor5A"
    "GxLaljWLRH+/b6UXzU6mFZArrdB6zzjprd6MALHcUXrqqabRj73MlcfmMWdIdaMA+Zt2Gn4Li5fAlpmcB5fPUywJdg"
    "pT7NGP366hVE/32lPrKK/poVAmbgjTHAixKQz5tqizDrOpOnnQq2Qit0Csssu98+OJKzUBbqSCWfd9y43pW5ipMrVn"
    "Ero7tFeAJtlFOM8aTs05Xbn1+PjGftE9TMcOeu7e/btEvwcFHXkMoJllg/uY+8i3yJrW6h3EVOi5uS92Y7fOHgLG0u"
    "s7RX+tlDvLG318k7RC4uHXrYXfxk7xR5Ybh8Lr3w1p5Dj5w3E1JfP7PoV/3qxnWNR3aQK38veE/u/G1fiFpJ33fPP8"
    "TasIw4xRS59qZHR/n2ahV7RXvd4nkrTn9SuCnDNmi14z6HZ6jupIzDwMDAwMDAwMDAYCNC+f/r9RUjVLtm8PYQ8b/r"
    "LEuqms8k/y0OY1qeM3IxPYCC5C7ONhQ/mxFWQVtqjXWC74UaR6R3F1MYpx9TDcev3P5U/e9Zc8Xkn1tCjfZfbcTPv9"
    "z/D6nIxG4="
)


def xls() -> bytes:
    """A workbook of Excel 97 with four cells."""
    return decompress(b64decode(_XLS))


def locked_pdf() -> bytes:
    """A PDF that wants a password, and accepts no password."""
    nothing = "0" * 64
    return pdf(
        "secret", trailer=f"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<{nothing}>/U<{nothing}>>>"
    )


def packed(files: Mapping[str, str]) -> bytes:
    """A zip archive, as office files are."""
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return written.getvalue()


def docx(text: str, before: str = "") -> bytes:
    """A Word file with one paragraph."""
    body = f"<w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body>"
    return packed(
        {
            "[Content_Types].xml": f'{XML}<Types xmlns="{TYPES}"/>',
            "word/document.xml": f'{XML}{before}<w:document xmlns:w="{WORDS}">{body}</w:document>',
        }
    )


def xlsx(*cells: str) -> bytes:
    """A table with one row."""
    row = "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in cells)
    sheet = '<sheet name="Sums" sheetId="1" r:id="rId1"/>'
    related = {
        "_rels/.rels": "xl/workbook.xml",
        "xl/_rels/workbook.xml.rels": "worksheets/sheet1.xml",
    }
    kinds = {"_rels/.rels": "officeDocument", "xl/_rels/workbook.xml.rels": "worksheet"}
    relations = {
        name: f'{XML}<Relationships xmlns="{RELATIONS}"><Relationship Id="rId1"'
        f' Type="{NAMED}/{kinds[name]}" Target="{target}"/></Relationships>'
        for name, target in related.items()
    }
    return packed(
        {
            **relations,
            "[Content_Types].xml": f'{XML}<Types xmlns="{TYPES}"/>',
            "xl/workbook.xml": f'{XML}<workbook xmlns="{SHEETS}" xmlns:r="{NAMED}">'
            f"<sheets>{sheet}</sheets></workbook>",
            "xl/worksheets/sheet1.xml": f'{XML}<worksheet xmlns="{SHEETS}"><sheetData>'
            f'<row r="1">{row}</row></sheetData></worksheet>',
        }
    )


def odt(text: str) -> bytes:
    """A text of LibreOffice with one paragraph."""
    names = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = f'xmlns:office="{names}:office:1.0" xmlns:text="{names}:text:1.0"'
    body = f"<office:text><text:p>{text}</text:p></office:text>"
    return packed(
        {
            "mimetype": ODT,
            "content.xml": f"{XML}<office:document-content {spaces}>"
            f"<office:body>{body}</office:body></office:document-content>",
        }
    )
