"""A server on loopback that receives webhooks, keeps what came, and fails on command."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import orjson
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from fakes.time_limit import time_limit

from orchestrator.testing.loopback import MAX_HEAD, LoopbackServer

SILENT = 0  # a status: the request is taken, and the connection closed without an answer
HANG = -1  # a status: the request is taken, and never answered


@dataclass(frozen=True)
class Sent:
    """A request that came; names of headers are in lower case."""

    path: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The JSON of it."""
        found: dict[str, Any] = orjson.loads(self.content)
        return found


class HookReceiver(LoopbackServer):
    """Answers with the ``statuses`` in their order, then with 200."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = deque(statuses)
        self.came: list[Sent] = []
        self._changed = anyio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds, which is looked at after every request."""
        with time_limit():
            while not condition():
                await self._changed.wait()

    async def _serve_connection(self, stream: SocketStream) -> None:
        received = BufferedByteReceiveStream(stream)
        async with stream:
            head = (await received.receive_until(b"\r\n\r\n", MAX_HEAD)).decode("latin-1")
            line, *fields = head.split("\r\n")
            pairs = (field.partition(":") for field in fields)
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            content = await received.receive_exactly(int(headers["content-length"]))
            self.came.append(Sent(line.split()[1], headers, content))
            status = self.statuses.popleft() if self.statuses else 200
            self._changed.set()
            self._changed = anyio.Event()
            if status == HANG:
                await anyio.sleep_forever()
            if status != SILENT:
                answer = f"HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                await stream.send(answer.encode())
