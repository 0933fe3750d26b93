"""Files in a request: replace each part with a file by the file's text.

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

from orchestrator.document_text import ReadDocument, UnreadableError
from orchestrator.extensions.http_api.request_bodies import parse_json_object
from orchestrator.journal.turns import stored_files
from orchestrator.web.error_response import make_invalid_problem
from thinker.protocol.messages import JsonObject

MAX_FILES = 20  # documents of a request
KINDS = ("file", "input_file", "document")
DATA_URL = re.compile(r"(?:data:([\w.+/-]*)(?:;[\w=-]+)*;base64,)?([A-Za-z0-9+/=\s]+)")


@dataclass(frozen=True)
class FilePart:
    """A file, and its part of the content; ``place`` is its name in errors."""

    part: JsonObject
    place: str
    name: str
    data: bytes

    @property
    def media_type(self) -> str:
        return stored_files.detect_media_type(self.name, self.data)


def parse_body_with_files(raw: bytes) -> tuple[JsonObject, list[FilePart]]:
    """Return the JSON object of a body, and its files as `parse_files` does."""
    body = parse_json_object(raw)
    return body, parse_files(body)


def parse_files(body: JsonObject) -> list[FilePart]:
    """Return the files of a request.

    Raises:
        ApiProblem: a file is malformed or only named, or there are too many.
    """
    found = [_parse_file(part, place) for part, place in _list_file_parts(body)]
    if len(found) > MAX_FILES:
        raise make_invalid_problem(
            found[MAX_FILES].place, f"send at most {MAX_FILES} files in a request"
        )
    return found


async def read_files(files: Sequence[FilePart], document_text: ReadDocument) -> None:
    """Put the text of each file into its part.

    Raises:
        ApiProblem: a file cannot be read.
    """
    for file in files:
        try:
            text = await document_text(file.data, file.media_type)
        except (UnreadableError, OSError) as error:
            raise make_invalid_problem(file.place, f"{file.name}: {error}") from error
        kind = "input_text" if file.part["type"] == "input_file" else "text"
        file.part.clear()
        file.part.update({"type": kind, "text": f"{file.name}:\n{text}"})


def _list_file_parts(body: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    for field in ("messages", "input"):
        for at, item in enumerate(_get_list(body.get(field))):
            if isinstance(item, dict):
                if _is_file_part(item):
                    yield item, f"{field}[{at}]"
                for number, part in enumerate(_get_list(item.get("content"))):
                    if isinstance(part, dict) and _is_file_part(part):
                        yield part, f"{field}[{at}].content[{number}]"


def _is_file_part(part: JsonObject) -> bool:
    source = part.get("source")  # a document of text is one already
    kind = source.get("type") if isinstance(source, dict) else None
    return part.get("type") in KINDS and (part.get("type") != "document" or kind == "base64")


def _parse_file(part: JsonObject, place: str) -> FilePart:
    inner = part.get({"file": "file", "document": "source"}.get(str(part["type"]), ""))
    fields = inner if isinstance(inner, dict) else part
    encoded = fields.get("file_data") or fields.get("data")
    found = DATA_URL.fullmatch(encoded) if isinstance(encoded, str) else None
    if found is None:
        raise make_invalid_problem(
            place, "send the file itself in base64; its id or address is not supported"
        )
    try:
        data = b64decode(found[2])
    except binascii.Error:
        raise make_invalid_problem(place, "the file is not valid base64") from None
    named = fields.get("filename") or part.get("title")
    name = stored_files.clean_name(named) if isinstance(named, str) else ""
    kind = fields.get("media_type") or found[1]
    if not PurePath(name).suffix:
        name = f"{name or 'file'}{stored_files.find_ending(str(kind))}"
    return FilePart(part, place, name, data)


def _get_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
