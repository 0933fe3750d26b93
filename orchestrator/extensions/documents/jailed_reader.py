"""Read each document in a jailed process of its own."""

import os
import signal
import sys
from contextlib import suppress

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from orchestrator.child_signals import signal_child
from orchestrator.document_text import UnreadableError, decode_plain_text
from orchestrator.extensions.documents.old_formats import PLAIN, correct_media_type
from orchestrator.extensions.documents.process_output import MAX_TEXT, READ, REFUSED
from orchestrator.extras import explain_missing
from orchestrator.files import run_off_loop
from orchestrator.processes.own_programs import open_program
from thinker.formats.documents import ENDINGS
from thinker.protocol.env import select_inherited_variables

PARSER = ("kreuzberg",)
ARGV = (sys.executable, "-P", "-m", "orchestrator.extensions.documents")
AT_ONCE = 2  # processes
SECONDS = 60.0  # for one document; the process may use half of it as processor time
MAX_OUTPUT = 4 * MAX_TEXT + 100  # bytes; a character has four at most
MISSING = "only an operator can make such documents readable here: {missing}"
FAILED = "it is damaged, or it would need too much memory or time"


class JailedReader:
    """Extracts the text of documents, a few at a time."""

    def __init__(self) -> None:
        self._turns = anyio.Semaphore(AT_ONCE)

    async def read_document(self, data: bytes, media_type: str) -> str:
        """Return the text of a document.

        Raises:
            UnreadableError: the document has no text, or cannot be read.
        """
        ending, media_type = ENDINGS.get(media_type, ""), correct_media_type(media_type, data)
        if media_type == PLAIN:
            return await run_off_loop(decode_plain_text, data, ending)
        missing = explain_missing(PARSER, "documents")
        if missing:
            raise UnreadableError(MISSING.format(missing=missing))
        async with self._turns:
            outcome, _, text = (await _convert_document(data, media_type)).partition("\n")
        if outcome != READ:
            raise UnreadableError(text if outcome == REFUSED else FAILED)
        if not text.strip():
            raise UnreadableError("it has no text; its pages may be pictures")
        return text


async def _convert_document(data: bytes, media_type: str) -> str:
    """Return the process's output for a document; empty if it fails."""
    environ = select_inherited_variables(os.environ)
    command = [*ARGV, media_type]
    async with open_program(command, environ=environ, cwd="/", new_session=True) as process:
        try:
            with anyio.move_on_after(SECONDS):
                return (await _exchange_data(process, data)).decode("utf-8", "replace")
            return ""
        finally:
            signal_child(process, signal.SIGKILL)


async def _exchange_data(process: Process, data: bytes) -> bytes:
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        return b""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_write_data, stdin, data)
        found = await _read_output(stdout)
        tasks.cancel_scope.cancel()
    return found


async def _write_data(stdin: ByteSendStream, data: bytes) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stdin.send(data)
    await stdin.aclose()


async def _read_output(stdout: ByteReceiveStream) -> bytes:
    found = bytearray()
    async for piece in stdout:
        found += piece
        if len(found) > MAX_OUTPUT:
            return b""
    return bytes(found)
