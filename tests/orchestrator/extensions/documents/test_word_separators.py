"""Words of a Word file stay apart, whatever its author put between them."""

import io
import zipfile

import pytest
from fakes import document_files as made

from orchestrator.extensions.documents.word_separators import write_separators

TEXT = '<w:t xml:space="preserve">{}</w:t>'


def read_body(data: bytes) -> str:
    """The XML of the text."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return file.read("word/document.xml").decode()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("<w:tab/>", TEXT.format("\t")),
        ("<w:tab />", TEXT.format("\t")),
        ('<w:ptab w:relativeTo="margin" w:alignment="right"/>', TEXT.format("\t")),
        ("<w:cr/>", "<w:br/>"),
        ("<w:noBreakHyphen/>", TEXT.format("\u2011")),
        ('<w:sym w:font="Wingdings" w:char="F0E0"/>', TEXT.format(" ")),
        ('<w:sym w:font="Arial" w:char="2192"/>', TEXT.format("&#x2192;")),
        ('<w:tabs><w:tab w:val="left" w:pos="720"/></w:tabs>',) * 2,
    ],
)
def test_separators_become_text(written: str, read: str) -> None:
    """The place of a tab in a paragraph stays what it is."""
    body = f"one</w:t>{written}<w:t>two"
    assert f"one</w:t>{read}<w:t>two" in read_body(write_separators(made.docx(body)))


def test_what_is_no_archive_is_left_alone() -> None:
    """Its reader says what is wrong with it."""
    assert write_separators(b"PK nothing") == b"PK nothing"
