"""The text of files: plain text is decoded here, and an extension reads documents."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from orchestrator.files import run_off_loop
from thinker.formats.documents import ENDINGS, UNREAD
from thinker.formats.text_encoding import decode_bytes

NO_READER = (
    "PDF and office files are not read on this machine; an operator may run:"
    " pip install 'orchestrator-daemon[documents]'"
)
NO_TEXT = "it has no text to read"
NOT_READ = "such {ending} files are not read here; save it as PDF and send that"
ReadDocument: TypeAlias = Callable[[bytes, str], Awaitable[str]]  # given a file and its media type


class UnreadableError(Exception):
    """A file has no readable text; the message says why, such as "it is encrypted"."""


class DocumentReader(Protocol):
    """Extracts the text of documents, in its own processes."""

    async def read_document(self, data: bytes, media_type: str) -> str:
        """Return the text of a document whose media type is one of `ENDINGS`.

        Raises:
            UnreadableError: the document has no text, or could not be read.
        """


@dataclass(frozen=True)
class FileReader:
    """Extracts the text of files; ``documents`` is None if no extension reads documents."""

    documents: DocumentReader | None = None

    async def read_text(self, data: bytes, media_type: str) -> str:
        """Return the text of a file.

        Raises:
            UnreadableError: the file has no text, or could not be read.
        """
        if media_type not in ENDINGS:
            return await run_off_loop(decode_plain_text, data, UNREAD.get(media_type, ""))
        if self.documents is None:
            raise UnreadableError(NO_READER)
        return await self.documents.read_document(data, media_type)


def decode_plain_text(data: bytes, ending: str = "") -> str:
    """Return the text of a plain text file; raise `UnreadableError` for any other.

    The ``ending`` of a format that nothing reads is named in the error.
    """
    text = decode_bytes(data)
    if text is None:
        raise UnreadableError(NOT_READ.format(ending=ending) if ending else NO_TEXT)
    return text.replace("\r\n", "\n")
