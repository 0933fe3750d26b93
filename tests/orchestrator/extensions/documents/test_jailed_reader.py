"""Documents are read in a process of their own; those who mean harm reach nothing."""

import os
import sys
from pathlib import Path

import pytest
from fakes import document_files as made

from orchestrator.document_text import FileReader, UnreadableError
from orchestrator.extensions.documents import jailed_reader
from orchestrator.extensions.documents.extension import DocumentsExtension
from orchestrator.extensions.documents.jailed_reader import JailedReader
from orchestrator.settings import Settings
from thinker.formats.documents import PDF

ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        (made.docx("Dear Anna"), made.DOCX, "Dear Anna"),
        (made.docx("one</w:t><w:tab/><w:t>two"), made.DOCX, "one\ttwo"),
        (made.xlsx("tea", "3.50"), made.XLSX, "3.50"),
        (made.odt("Dear Anna"), made.ODT, "Dear Anna"),
        (made.xls(), made.XLS, "Größe Preis\nMüller 5.5"),
        (made.xlsx("tea", "3.50"), made.XLS, "3.50"),
        (rb"{\rtf1 Dear Anna}", "application/msword", "Dear Anna"),
        ("Größe;5".encode("cp1252"), made.XLS, "Größe;5"),
        (rb"{\rtf1 Dear Anna}", "application/rtf", "Dear Anna"),
        (b"\xef\xbb\xbfone\r\ntwo", "text/plain", "one\ntwo"),
        ("größer".encode("utf-16"), "text/plain", "größer"),
    ],
)
@pytest.mark.process
async def test_text_of_each_format_is_found(data: bytes, kind: str, text: str) -> None:
    """Without markup, lines as everywhere else."""
    assert text in await FileReader(JailedReader()).read_text(data, kind)


async def test_missing_library_is_answered_with_the_line_to_type(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In chats, and by the doctor: no setting names it, so nothing is wrong there."""
    (there,) = DocumentsExtension().list_findings(Settings(home=tmp_path), None, None)
    assert there.text == "PDF and office files are read"
    monkeypatch.setitem(sys.modules, "kreuzberg", None)
    with pytest.raises(UnreadableError, match=r"operator .* kreuzberg is not") as failed:
        await JailedReader().read_document(made.pdf("x"), PDF)
    assert str(failed.value).endswith("pip install 'orchestrator-daemon[documents]'")
    (missing,) = DocumentsExtension().list_findings(Settings(home=tmp_path), None, None)
    assert missing.verdict == "ok"
    assert missing.text.endswith("pip install 'orchestrator-daemon[documents]'")


@pytest.mark.process
async def test_forty_pages_are_read_in_order() -> None:
    """Nothing of a long PDF is left out."""
    pages = [f"Page {number} is about number {number * 7919}" for number in range(1, 41)]
    text = await FileReader(JailedReader()).read_text(made.pdf(*pages), PDF)
    assert [line for line in text.splitlines() if line] == pages


@pytest.mark.parametrize(
    ("data", "kind", "problem"),
    [
        (made.locked_pdf(), PDF, "encrypted"),
        (b"%PDF-1.4 and nothing else", PDF, "damaged"),
        (made.pdf(""), PDF, "no text; its pages may be pictures"),
        (made.packed({"a": "b"}), made.DOCX, "damaged"),
        (b"a\0b", "application/zip", "it has no text to read"),
        (b"\x09\0\x04\0\0\0", made.XLS, "such .xls files are not read here; save it as PDF"),
        (b"\xff\xf0", "text/plain", "it has no text to read"),
    ],
    ids=["encrypted", "broken", "scanned", "another archive", "binary", "Excel 2", "bytes"],
)
@pytest.mark.process
async def test_what_cannot_be_read_is_answered_with_a_sentence(
    data: bytes, kind: str, problem: str
) -> None:
    """It names what is wrong with the file."""
    with pytest.raises(UnreadableError, match=problem):
        await FileReader(JailedReader()).read_text(data, kind)


@pytest.mark.parametrize(
    ("part", "times"), [("A", 200_000_000), ("<w:p>", 200_000)], ids=["bomb", "deep"]
)
@pytest.mark.process
async def test_file_that_unpacks_into_too_much_is_refused(part: str, times: int) -> None:
    """It would need more memory than there is."""
    with pytest.raises(UnreadableError, match="damaged"):
        await FileReader(JailedReader()).read_text(made.docx(part * times), made.DOCX)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (f'<!DOCTYPE x [<!ENTITY e0 "{"a" * 1000}">{ENTITIES}]>', "&e9;"),
        ('<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname">]>', "&f;"),
    ],
    ids=["entities of entities", "a file of this machine"],
)
@pytest.mark.process
async def test_entities_are_not_followed(before: str, text: str) -> None:
    """Neither a thousand million letters nor a file come from them."""
    with pytest.raises(UnreadableError):
        await FileReader(JailedReader()).read_text(made.docx(text, before), made.DOCX)


@pytest.mark.process
async def test_process_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its document is refused, and so is one of a process that writes without end."""
    monkeypatch.setattr(jailed_reader, "SECONDS", 0.1)
    monkeypatch.setattr(jailed_reader, "ARGV", ("sh", "-c", "sleep 1000"))
    with pytest.raises(UnreadableError, match="too much memory or time"):
        await FileReader(JailedReader()).read_text(b"%PDF-", PDF)
    monkeypatch.setattr(jailed_reader, "SECONDS", 60.0)
    monkeypatch.setattr(jailed_reader, "ARGV", ("yes",))
    with pytest.raises(UnreadableError, match="too much memory or time"):
        await FileReader(JailedReader()).read_text(b"%PDF-", PDF)


@pytest.mark.process
async def test_keys_and_folders_stay_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process has no key in its environment, and leaves no file behind."""
    seen = tmp_path / "environ"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setattr(jailed_reader, "ARGV", ("sh", "-c", f"env > {seen}"))
    with pytest.raises(UnreadableError):
        await FileReader(JailedReader()).read_text(b"%PDF-", PDF)
    assert "sk-secret" not in seen.read_text()
    assert os.environ["OPENAI_API_KEY"] == "sk-secret"
