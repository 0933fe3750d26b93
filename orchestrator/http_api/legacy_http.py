"""One HTTP/1.1 request from a connection, bounded; h11 knows the protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

import anyio

from orchestrator.errors import OrchestratorError

if TYPE_CHECKING:
    import h11

MAX_BODY = 4 * 1024 * 1024  # bytes
CHUNK = 65_536


class RefusedRequestError(OrchestratorError):
    """A request that is not served, with the status to say so."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Connection(Protocol):
    """The part of a stream that is needed here."""

    async def receive(self, max_bytes: int = CHUNK) -> bytes:
        """Some bytes; `anyio.EndOfStream` when there are no more."""

    async def send(self, item: bytes) -> None:
        """All of them."""


@dataclass(frozen=True)
class Exchange:
    """A whole request; names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


async def read(stream: Connection) -> Exchange:
    """Read one request.

    Raises:
        RefusedRequestError: it is no request, or too large.
        anyio.BrokenResourceError: the client went away.
    """
    import h11  # noqa: PLC0415 - a daemon whose agents have no port never loads it

    connection = h11.Connection(h11.SERVER)
    request: h11.Request | None = None
    body = bytearray()
    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError as error:
            raise RefusedRequestError(HTTPStatus.BAD_REQUEST, str(error)) from error
        if event is h11.NEED_DATA:
            if connection.they_are_waiting_for_100_continue:
                await stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.receive_data(await _receive(stream))
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_BODY:
                raise RefusedRequestError(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {MAX_BODY} bytes"
                )
        elif isinstance(event, h11.EndOfMessage) and request is not None:
            return _exchange(request, bytes(body))
        else:
            raise anyio.BrokenResourceError


async def _receive(stream: Connection) -> bytes:
    try:
        return await stream.receive(CHUNK)
    except anyio.EndOfStream:
        return b""


def _exchange(request: "h11.Request", body: bytes) -> Exchange:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers}
    path = request.target.decode("latin-1").partition("?")[0]
    return Exchange(request.method.decode("latin-1"), path, headers, body)
