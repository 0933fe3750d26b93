"""Requests and answers as their callers see them, whatever carries them."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Protocol

NO_HEADERS: Mapping[str, str] = MappingProxyType({})
SUCCESS = range(200, 300)  # statuses


class HttpError(Exception):
    """A request had no answer, or not a whole one."""


class ConnectError(HttpError):
    """The request never reached the server: repeating it is safe."""


class SilenceError(HttpError):
    """The server said nothing for too long. It may have acted, and may charge for it."""


class BrokenAnswerError(HttpError):
    """The connection broke, or what came is not an answer."""


class HttpAnswer(ABC):
    """An answer whose body is read in pieces; its caller closes it.

    Names of headers are in lower case. ``call_id`` names the call if a broker made it.
    """

    call_id: str = ""

    def __init__(self, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        self.headers = headers

    @property
    def complete(self) -> bool:
        """Whether the pieces that were read are known to be all."""
        return False

    @property
    def success(self) -> bool:
        return self.status in SUCCESS

    @abstractmethod
    def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body, decoded, in pieces of at most about a quarter of a megabyte.

        Raises:
            HttpError: the rest does not come.
        """

    async def read(self, limit: int) -> bytes:
        """Return the whole body and close the answer.

        Raises:
            BodyTooLargeError: it has more than ``limit`` bytes.
            HttpError: the rest does not come.
        """
        body = bytearray()
        try:
            async for piece in self.pieces():
                body += piece
                if len(body) > limit:
                    raise BodyTooLargeError(f"more than {limit} bytes")
        finally:
            self.close()
        return bytes(body)

    @abstractmethod
    def close(self) -> None:
        """Let go of the connection, which ends if the body was not read to its end."""


class BodyTooLargeError(HttpError):
    """An answer is larger than its caller takes."""


class WholeAnswer(HttpAnswer):
    """An answer that is there."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str] = NO_HEADERS) -> None:
        super().__init__(status, headers)
        self._body = body

    async def pieces(self) -> AsyncIterator[bytes]:
        yield self._body

    def close(self) -> None:
        pass


class Network(Protocol):
    """What carries requests: `WebClient`, a broker, or what stands for one in a simulation."""

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] = NO_HEADERS, body: bytes = b""
    ) -> HttpAnswer:
        """Make a request and return its answer, the body unread. No redirect is followed.

        Raises:
            HttpError: no answer came.
        """

    def close(self) -> None:
        """End all idle connections."""
