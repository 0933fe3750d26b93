"""Run programs that asyncio reaps: the reaper of orphans leaves them alone until they end."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from subprocess import DEVNULL, PIPE, CompletedProcess

import anyio
from anyio.abc import ByteReceiveStream, Process

_running: set[int] = set()
_starting: set[object] = set()  # an id is not known immediately


def is_own_program(pid: int) -> bool:
    """Return whether a child is a program of this module, or may be while one starts."""
    return pid in _running or bool(_starting)


@asynccontextmanager
async def open_program(
    command: Sequence[str],
    *,
    stdin: int = PIPE,
    stdout: int = PIPE,
    stderr: int = DEVNULL,
    environ: Mapping[str, str] | None = None,
    cwd: str | None = None,
    new_session: bool = False,
) -> AsyncIterator[Process]:
    """Start a program, and wait for its end after the block; kill it if that is cancelled."""
    start = object()
    _starting.add(start)
    try:
        process = await anyio.open_process(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=environ,
            cwd=cwd,
            start_new_session=new_session,
        )
        _running.add(process.pid)
    finally:
        _starting.discard(start)
    try:
        async with process:
            yield process
    finally:
        _running.discard(process.pid)


async def run_program(command: Sequence[str]) -> CompletedProcess[bytes]:
    """Run a program to its end, and return its code and what it wrote; kill it if cancelled."""
    written: dict[str, bytes] = {}

    async def read(name: str, stream: ByteReceiveStream) -> None:
        written[name] = b"".join([data async for data in stream])

    async with open_program(command, stdin=DEVNULL, stderr=PIPE) as process:
        async with anyio.create_task_group() as tasks:
            for name in ("stdout", "stderr"):
                tasks.start_soon(read, name, getattr(process, name))
        code = await process.wait()
    return CompletedProcess(command, code, **written)
