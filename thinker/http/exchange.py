"""Requests and answers, independent of the transport."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

NO_HEADERS: Mapping[str, str] = MappingProxyType({})
SUCCESS = range(200, 300)  # statuses


class HttpError(Exception):
    """A request had no answer, or an incomplete one."""


class ConnectError(HttpError):
    """The request never reached the server: repeating it is safe."""


class SilenceError(HttpError):
    """The server timed out. The request may have run, and may be charged for."""


class BrokenAnswerError(HttpError):
    """The connection broke, or the data received is not an answer."""


@dataclass(eq=False)
class HttpAnswer(ABC):
    """An answer whose body is read in pieces; the caller closes it.

    Header names are in lower case. ``call_id`` identifies the call if a broker made it.
    """

    status: int
    headers: Mapping[str, str]
    call_id: str = field(default="", init=False)

    @property
    def is_complete(self) -> bool:
        """Whether the pieces read so far are known to be complete."""
        return False

    @property
    def is_success(self) -> bool:
        return self.status in SUCCESS

    @abstractmethod
    def iter_pieces(self) -> AsyncIterator[bytes]:
        """Yield the decoded body in pieces of at most about a quarter of a megabyte.

        Raises:
            HttpError: the rest of the body does not arrive.
        """

    async def read(self, limit: int) -> bytes:
        """Return the whole body and close the answer.

        Raises:
            BodyTooLargeError: the body has more than ``limit`` bytes.
            HttpError: the rest of the body does not arrive.
        """
        body = bytearray()
        try:
            async for piece in self.iter_pieces():
                body += piece
                if len(body) > limit:
                    raise BodyTooLargeError(f"more than {limit} bytes")
        finally:
            self.close()
        return bytes(body)

    @abstractmethod
    def close(self) -> None:
        """Release the connection, which is closed if the body was not read completely."""


class BodyTooLargeError(HttpError):
    """An answer is larger than its caller accepts."""


class WholeAnswer(HttpAnswer):
    """An answer that is complete in memory."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str] = NO_HEADERS) -> None:
        super().__init__(status, headers)
        self._body = body

    async def iter_pieces(self) -> AsyncIterator[bytes]:
        yield self._body

    def close(self) -> None:
        pass


class Network(Protocol):
    """Carries requests: `WebClient`, a broker, or a simulation."""

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] = NO_HEADERS, body: bytes = b""
    ) -> HttpAnswer:
        """Make a request and return its answer with the body unread; follow no redirects.

        Raises:
            HttpError: no answer arrived.
        """

    def close(self) -> None:
        """Close the idle connections."""
