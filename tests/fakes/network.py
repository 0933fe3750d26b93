"""A network without servers: answers are what a function says."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

import anyio

from thinker.http.exchange import NO_HEADERS, BrokenAnswerError, HttpAnswer, WholeAnswer


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


class Chunks(HttpAnswer):
    """An answer of these chunks; then it hangs, breaks or ends."""

    def __init__(
        self,
        *chunks: bytes,
        then: str = "end",
        status: int = 200,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        super().__init__(status, headers)
        self._chunks, self._then = chunks, then

    async def iter_pieces(self) -> AsyncIterator[bytes]:
        """Yield the chunks, then the chosen end."""
        for chunk in self._chunks:
            yield chunk
        if self._then == "hang":
            await anyio.sleep_forever()
        if self._then == "break":
            raise BrokenAnswerError("the connection ended")

    def close(self) -> None:
        """There is nothing to let go of."""


class AnsweringNetwork:
    """Takes requests to any address and keeps them."""

    def __init__(self, answer: Callable[[Asked], HttpAnswer]) -> None:
        self._answer = answer
        self.requests: list[Asked] = []

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] = NO_HEADERS, body: bytes = b""
    ) -> HttpAnswer:
        """Answer at once."""
        asked = Asked(method, url, dict(headers), body)
        self.requests.append(asked)
        return self._answer(asked)

    def close(self) -> None:
        """Nothing is kept."""


def answered(
    value: object, status: int = 200, headers: Mapping[str, str] = NO_HEADERS
) -> HttpAnswer:
    """A JSON answer."""
    sent = {"content-type": "application/json", **headers}
    return WholeAnswer(status, json.dumps(value).encode(), sent)
