"""The text of files, without what reads documents."""

import pytest

from orchestrator.document_text import FileReader, UnreadableError
from thinker.formats.documents import ENDINGS


async def test_plain_text_needs_no_extension() -> None:
    """In the encodings that editors write, lines as everywhere else."""
    read = FileReader().read_text
    assert await read(b"\xef\xbb\xbfone\r\ntwo", "text/plain") == "one\ntwo"
    assert await read("größer".encode("utf-16"), "text/markdown") == "größer"


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("application/vnd.apple.pages", "such .pages files are not read here; save it as PDF"),
        ("application/zip", "it has no text to read"),
    ],
)
async def test_format_that_is_not_read_is_named(kind: str, problem: str) -> None:
    """With what its sender can do."""
    with pytest.raises(UnreadableError, match=problem):
        await FileReader().read_text(b"\x09\x00\x04\x00\x00\x00", kind)


@pytest.mark.parametrize("kind", ENDINGS)
async def test_document_without_its_extension_is_answered_with_what_to_type(kind: str) -> None:
    """Whatever its format is."""
    with pytest.raises(UnreadableError, match=r"run: pip install 'orchestrator-daemon\[documents"):
        await FileReader().read_text(b"%PDF-", kind)
