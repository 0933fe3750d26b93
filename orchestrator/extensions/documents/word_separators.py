"""Write the separators of a Word file as letters, which its parser would leave out.

It reads a tab, a hyphen that keeps a line together and a symbol as nothing, so that words run
into each other.
"""

import io
import re
import zipfile

MAX_XML = 64 * 1024 * 1024  # bytes of one part
_PARTS = re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes|comments)\.xml")
_SEPARATOR = re.compile(r"<w:(?P<kind>tab|ptab|cr|noBreakHyphen|sym)(?P<fields>(?:\s[^<>]*)?)/>")
_CODE = re.compile(r"w:char=[\"\']([0-9A-Fa-f]{4})[\"\']")
_STOP = re.compile(r"\sw:(?:val|pos)=")  # the place of a tab in a paragraph, not a tab
_LETTERS = {"tab": "\t", "ptab": "\t", "noBreakHyphen": "\N{NON-BREAKING HYPHEN}"}
_PRIVATE = range(0xE000, 0xF900)  # letters of a symbol font, which mean nothing elsewhere


def write_separators(data: bytes) -> bytes:
    """Return a Word file whose separators are text; the same file if it is damaged or huge."""
    written = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(written, "w") as new:
            for part in old.infolist():
                if part.file_size > MAX_XML:
                    return data
                content = old.read(part)
                if _PARTS.fullmatch(part.filename):
                    text = content.decode("utf-8", "surrogateescape")
                    content = _SEPARATOR.sub(_replace, text).encode("utf-8", "surrogateescape")
                new.writestr(part, content)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
        return data
    return written.getvalue()


def _replace(found: re.Match[str]) -> str:
    kind, fields = found["kind"], found["fields"]
    if kind == "tab" and _STOP.search(fields):
        return found[0]
    if kind == "cr":
        return "<w:br/>"
    letter = _LETTERS.get(kind, " ")
    code = _CODE.search(fields) if kind == "sym" else None
    if code and (number := int(code[1], 16)) > ord(" ") and number not in _PRIVATE:
        letter = f"&#x{number:X};"
    return f'<w:t xml:space="preserve">{letter}</w:t>'
