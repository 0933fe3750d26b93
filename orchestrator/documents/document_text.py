"""Find the text of a file."""

import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from orchestrator.child_signals import signal_child
from orchestrator.documents.formats import ENDINGS, MAX_TEXT, READ, REFUSED
from orchestrator.files import off_loop
from thinker.protocol.env import inherited

ARGV = (sys.executable, "-P", "-m", "orchestrator.documents")
AT_ONCE = 2  # processes
SECONDS = 60.0  # for one document; the process may use half of that of a processor
MAX_OUTPUT = 4 * MAX_TEXT + 100  # bytes; a character has four at most
FAILED = "it is damaged, or it would need too much memory or time"
ReadDocument: TypeAlias = Callable[[bytes, str], Awaitable[str]]


class UnreadableError(Exception):
    """A file has no text that can be read; the message says why, as in "it is encrypted"."""


class DocumentReader:
    """Finds the text of files; a few documents are read at once, others wait."""

    def __init__(self) -> None:
        self._turns = anyio.Semaphore(AT_ONCE)
        self._starting = 0
        self._running: set[int] = set()

    def reaps(self, pid: int) -> bool:
        """Return whether a child of this process is, or while one starts may be, the reader's."""
        return pid in self._running or self._starting > 0

    async def __call__(self, data: bytes, media_type: str) -> str:
        """Return the text of a file.

        Raises:
            UnreadableError: it has none, or it could not be read.
        """
        if media_type not in ENDINGS:
            return await off_loop(plain_text, data)
        async with self._turns:
            outcome, _, text = (await self._asked(data, media_type)).partition("\n")
        if outcome != READ:
            raise UnreadableError(text if outcome == REFUSED else FAILED)
        if not text.strip():
            raise UnreadableError("it has no text; its pages may be pictures")
        return text

    async def _asked(self, data: bytes, media_type: str) -> str:
        """Return what the process writes for a document; empty if it fails."""
        process = await self._started(media_type)
        try:
            with anyio.move_on_after(SECONDS):
                return (await _conversation(process, data)).decode("utf-8", "replace")
            return ""
        finally:
            signal_child(process, signal.SIGKILL)
            with anyio.CancelScope(shield=True):
                await process.aclose()
            self._running.discard(process.pid)

    async def _started(self, media_type: str) -> Process:
        self._starting += 1  # its number is not known at once
        try:
            process = await anyio.open_process(
                [*ARGV, media_type],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=inherited(os.environ),
                start_new_session=True,
            )
            self._running.add(process.pid)
            return process
        finally:
            self._starting -= 1


def plain_text(data: bytes) -> str:
    """Return the text of a file that is one; raise `UnreadableError` for others."""
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    with suppress(UnicodeDecodeError):
        if wide or b"\0" not in data:
            return data.decode("utf-16" if wide else "utf-8-sig").replace("\r\n", "\n")
    raise UnreadableError("it has no text to read")


async def _conversation(process: Process, data: bytes) -> bytes:
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        return b""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_feed, stdin, data)
        found = await _drained(stdout)
        tasks.cancel_scope.cancel()
    return found


async def _feed(stdin: ByteSendStream, data: bytes) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stdin.send(data)
    await stdin.aclose()


async def _drained(stdout: ByteReceiveStream) -> bytes:
    found = bytearray()
    async for piece in stdout:
        found += piece
        if len(found) > MAX_OUTPUT:
            return b""
    return bytes(found)
