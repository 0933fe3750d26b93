"""Read the bodies of forms, so that slow ones do not delay others."""

from base64 import b64encode
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qsl

import anyio
from pydantic import JsonValue
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from orchestrator.extensions.page.daemon_side.page_protocol import (
    MAX_FILE_BYTES,
    MAX_FILE_NAME,
    MAX_FILES,
)
from orchestrator.web.app import read_body
from orchestrator.web.error_response import ApiProblem

MAX_BODY = 1024 * 1024  # bytes of a form
MAX_FILES_BODY = MAX_FILE_BYTES + MAX_BODY
MAX_CONCURRENT = 8  # bodies of one session that arrive; of those without a session together
MAX_FIELDS = 100
TOO_LARGE = (
    f"the files have more than {MAX_FILE_BYTES // 1024**2} MiB; send them in several messages"
)
TOO_MANY = f"a message has at most {MAX_FILES} files; send them in several messages"


class BodyLimits(NamedTuple):
    """Limits of a body: bytes, seconds to arrive, and concurrent bodies of one sender."""

    size: int
    seconds: float
    at_once: int


FORM = BodyLimits(MAX_BODY, 30.0, MAX_CONCURRENT)
FORM_WITH_FILES = BodyLimits(MAX_FILES_BODY, 180.0, 2)
# A character of three bytes takes nine in a form, so this is enough for `editing.MAX_TEXT` of them.
FORM_WITH_TEXT = BodyLimits(MAX_FILES_BODY, 60.0, 2)
OWN_FIELDS = frozenset({"csrf", "once", "back"})  # of the page itself


class Form(NamedTuple):
    """A submitted form: its fields, and its files with their names."""

    fields: Mapping[str, str]
    files: tuple[tuple[str, bytes], ...] = ()

    def list_params(self) -> dict[str, JsonValue]:
        """Return what the form says to a method of the supervisor, as text."""
        found: dict[str, JsonValue] = {
            name: value for name, value in self.fields.items() if name not in OWN_FIELDS
        }
        if self.files:
            found["files"] = [
                {"name": name, "data": b64encode(data).decode()} for name, data in self.files
            ]
        return found


class InMemoryParser(MultiPartParser):
    """A parser that writes nothing to disk: the body is already in memory."""

    spool_max_size = MAX_FILES_BODY


class BodyReads:
    """Reads forms; when a sender has too many under way, the oldest is dropped."""

    def __init__(self) -> None:
        self._reading: defaultdict[str, list[anyio.CancelScope]] = defaultdict(list)

    async def read_form(self, request: Request, sender: str = "", *, long: bool = False) -> Form:
        """Return a form; ``sender`` is the session that sends the form, if any.

        Forms with files are read only for sessions; without one, such a form has no fields.
        A ``long`` one may hold a whole text that is edited.

        Raises:
            ApiProblem: the form is malformed, too large or too slow, or the sender began too many
            others.
        """
        kind = request.headers.get("content-type", "")
        if not (sender and kind.startswith("multipart/form-data")):
            length = request.headers.get("content-length", "")
            if long and length.isdecimal() and int(length[:15]) > MAX_BODY:
                whole = await self._read_body(request, f"{sender} text", FORM_WITH_TEXT)
            else:
                whole = await self._read_body(request, sender, FORM)
            return Form(_parse_fields(whole))
        try:
            body = await self._read_body(request, f"{sender} files", FORM_WITH_FILES)
        except ApiProblem as problem:
            if problem.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                raise ApiProblem(problem.status, TOO_LARGE) from problem
            raise
        return await _parse_multipart(request.headers, body)

    async def _read_body(self, request: Request, sender: str, limits: BodyLimits) -> bytes:
        own, reading, body = anyio.CancelScope(), self._reading[sender], b""
        reading.append(own)
        if len(reading) > limits.at_once:
            reading.pop(0).cancel()
        try:
            with own:
                body = await read_body(request, limits.size, limits.seconds)
        finally:
            if own in reading:
                reading.remove(own)
            if not reading:
                self._reading.pop(sender, None)
        if own.cancelled_caught:
            message = "too many forms at the same time; send this one again"
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message, retry=1)
        return body


def _parse_fields(body: bytes) -> dict[str, str]:
    text = body.decode(errors="replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        message = f"a form has at most {MAX_FIELDS} fields"
        raise ApiProblem(HTTPStatus.BAD_REQUEST, message) from None


async def _parse_multipart(headers: Headers, body: bytes) -> Form:
    async def stream_body() -> AsyncGenerator[bytes]:
        yield body

    parser = InMemoryParser(
        headers, stream_body(), max_files=MAX_FIELDS, max_fields=MAX_FIELDS, max_part_size=len(body)
    )
    try:
        found = await parser.parse()
    except (MultiPartException, ValueError, KeyError) as error:
        message = "the form cannot be read; send it again"
        raise ApiProblem(HTTPStatus.BAD_REQUEST, message) from error
    fields, files, chosen = dict[str, str](), list[tuple[str, bytes]](), False
    for name, value in found.multi_items():
        if isinstance(value, str):
            fields[name] = value
            continue
        chosen = True
        if value.filename:  # a field without a choice has an empty one
            files.append((value.filename[-MAX_FILE_NAME:], await value.read()))
    await found.close()
    if len(files) > MAX_FILES:
        raise ApiProblem(HTTPStatus.BAD_REQUEST, TOO_MANY)
    return Form(fields, tuple(files)) if chosen else Form({})
