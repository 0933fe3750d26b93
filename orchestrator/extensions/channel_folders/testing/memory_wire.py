"""A simulated process of a few tasks, and the wire to it."""

import asyncio
import signal
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from orchestrator.extensions.channel_folders.testing.anyio_context import make_anyio_context
from thinker.protocol.peer import Peer

LATENCY = 0.0002  # seconds for a frame


class MemoryWriter:
    """One direction of the wire: frames arrive in order; the end arrives after them."""

    def __init__(self) -> None:
        self.reader: Peer | None = None
        self._frames: deque[bytes | None] = deque()

    def write(self, data: bytes) -> None:
        self._send_frame(data)

    def close(self) -> None:
        self._send_frame(None)

    def _send_frame(self, data: bytes | None) -> None:
        self._frames.append(data)
        loop, context = asyncio.get_running_loop(), make_anyio_context()
        loop.call_later(LATENCY, self._deliver_frame, context=context)

    def _deliver_frame(self) -> None:
        frame = self._frames.popleft()
        if self.reader is None or self.reader.closed.is_set():
            return
        if frame is None:
            self.reader.mark_lost()
        else:
            self.reader.feed(frame)


@dataclass(eq=False)
class MemoryProcess:
    """A simulated process: ``serve`` runs with its end of the wire until it ends or is killed."""

    name: str
    serve: Callable[["MemoryProcess", Peer], Awaitable[None]]
    pid: int
    silent: bool = field(default=False, init=False)  # it hangs
    code: int = field(default=0, init=False)
    _ended: anyio.Event = field(default_factory=anyio.Event, init=False)
    _scope: anyio.CancelScope = field(default_factory=anyio.CancelScope, init=False)

    @asynccontextmanager
    async def open_peer(self) -> AsyncIterator[Peer]:
        """Start the process, and open the daemon's end of its wire."""
        to_child, to_parent = MemoryWriter(), MemoryWriter()
        try:
            async with anyio.create_task_group() as tasks:
                parent = to_parent.reader = Peer(to_child, tasks)
                tasks.start_soon(self._run_process, to_child, to_parent)
                try:
                    yield parent
                finally:
                    parent.mark_lost()
                    to_parent.reader = None
                    tasks.cancel_scope.cancel()
        except ExceptionGroup as group:
            raise group.exceptions[0] from None

    async def _run_process(self, to_child: MemoryWriter, to_parent: MemoryWriter) -> None:
        try:
            with self._scope:
                async with anyio.create_task_group() as tasks:
                    peer = to_child.reader = Peer(to_parent, tasks)
                    await self.serve(self, peer)
                    tasks.cancel_scope.cancel()
        finally:
            to_child.reader = None
            to_parent.close()
            self._ended.set()

    def signal(self, number: signal.Signals) -> None:
        self.code = self.code or -number
        self._scope.cancel()

    async def wait_for_end(self) -> int:
        await self._ended.wait()
        return self.code

    def close(self) -> None:
        """Do nothing: it holds no resources."""
