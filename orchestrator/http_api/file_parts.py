"""Files in a request: their text takes the place of the part that brought them.

Chat completions have parts ``file``, responses ``input_file``, and messages of Anthropic's API
``document``; each brings its bytes in base64.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from pydantic import JsonValue

from orchestrator.documents.document_text import ReadDocument, UnreadableError
from orchestrator.http_api.error_response import invalid
from orchestrator.journal.turns import stored_files
from thinker.protocol.messages import JsonObject

MOST = 20  # documents of a request
KINDS = ("file", "input_file", "document")
DATA_URL = re.compile(r"(?:data:([\w.+/-]*)(?:;[\w=-]+)*;base64,)?([A-Za-z0-9+/=\s]+)")


@dataclass(frozen=True)
class FilePart:
    """A file, and the part of a content that it came with; ``place`` as errors name it."""

    part: JsonObject
    place: str
    name: str
    data: bytes

    @property
    def media_type(self) -> str:
        return stored_files.kind_of(self.name, self.data)


def files_of(body: JsonObject) -> list[FilePart]:
    """Return the files of a request.

    Raises:
        ApiProblem: one is malformed, is only named, or there are too many.
    """
    found = [_file(part, place) for part, place in _parts(body)]
    if len(found) > MOST:
        raise invalid(found[MOST].place, f"send at most {MOST} files in a request")
    return found


async def read_files(files: Sequence[FilePart], document_text: ReadDocument) -> None:
    """Put the text of each file into the part that brought it.

    Raises:
        ApiProblem: one cannot be read.
    """
    for file in files:
        try:
            text = await document_text(file.data, file.media_type)
        except (UnreadableError, OSError) as error:
            raise invalid(file.place, f"{file.name}: {error}") from error
        kind = "input_text" if file.part["type"] == "input_file" else "text"
        file.part.clear()
        file.part.update({"type": kind, "text": f"{file.name}:\n{text}"})


def _parts(body: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    for field in ("messages", "input"):
        for at, item in enumerate(_list(body.get(field))):
            if isinstance(item, dict):
                if _is_file(item):
                    yield item, f"{field}[{at}]"
                for number, part in enumerate(_list(item.get("content"))):
                    if isinstance(part, dict) and _is_file(part):
                        yield part, f"{field}[{at}].content[{number}]"


def _is_file(part: JsonObject) -> bool:
    source = part.get("source")  # a document of text is one already
    kind = source.get("type") if isinstance(source, dict) else None
    return part.get("type") in KINDS and (part.get("type") != "document" or kind == "base64")


def _file(part: JsonObject, place: str) -> FilePart:
    inner = part.get({"file": "file", "document": "source"}.get(str(part["type"]), ""))
    fields = inner if isinstance(inner, dict) else part
    encoded = fields.get("file_data") or fields.get("data")
    found = DATA_URL.fullmatch(encoded) if isinstance(encoded, str) else None
    if found is None:
        raise invalid(place, "send the file itself in base64; its id or address is not supported")
    try:
        data = b64decode(found[2])
    except binascii.Error:
        raise invalid(place, "the file is not valid base64") from None
    named = fields.get("filename") or part.get("title")
    name = stored_files.clean(named) if isinstance(named, str) else ""
    kind = fields.get("media_type") or found[1]
    if not PurePath(name).suffix:
        name = f"{name or 'file'}{stored_files.ending_of(str(kind))}"
    return FilePart(part, place, name, data)


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
