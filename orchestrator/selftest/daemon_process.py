"""Start a daemon of the self-test: executed, or forked by a warm process."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol, Self, TypeAlias

import anyio
from anyio import AsyncContextManagerMixin

from orchestrator.errors import OrchestratorError
from orchestrator.selftest.fork_server import MESSAGE, Life
from orchestrator.selftest.home_mark import mark

SPAWN = "ORCHESTRATOR_SPAWN"
EXECUTED = (sys.executable, "-P", "-m", "orchestrator", "run")
SERVER = (sys.executable, "-P", "-m", "orchestrator.selftest.fork_server")
ROOM = "." * 4096  # in the server's environment, which its daemons overwrite with theirs


class DaemonProcess(Protocol):
    """A daemon's process; ``returncode`` is None until its end is known."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    async def wait(self) -> int:
        """Wait for its end and return its exit code, or minus the signal."""


StartDaemon: TypeAlias = Callable[[Mapping[str, str], Path, Path], Awaitable[DaemonProcess]]


async def execute(environ: Mapping[str, str], folder: Path, log: Path) -> DaemonProcess:
    """Execute a daemon with exactly this environment; its output goes to ``log``."""
    with log.open("wb") as file:
        process = await anyio.open_process(
            EXECUTED,
            env=environ,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    mark(process.pid, folder)  # long before it starts a process
    return process


class ForkedDaemon:
    """A daemon that a `ForkServer` forked."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.ended = anyio.Event()

    async def wait(self) -> int:
        await self.ended.wait()
        return self.returncode or 0


class ForkServer(AsyncContextManagerMixin):
    """``async with ForkServer() as server``: `start` is a `StartDaemon` that takes milliseconds."""

    def __init__(self) -> None:
        self._lives: dict[int, ForkedDaemon] = {}
        self._starting = anyio.Lock()
        self._send, self._started = anyio.create_memory_object_stream[ForkedDaemon](1)

    @asynccontextmanager
    async def __asynccontextmanager__(self) -> AsyncGenerator[Self]:
        environ = {"PATH": os.environ["PATH"], "ROOM": ROOM}
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with self._socket, theirs:
            process = await anyio.open_process(
                SERVER,
                env=environ,
                stdin=theirs.fileno(),
                stdout=None,
                stderr=None,
                start_new_session=True,  # Ctrl-C is for the self-test alone
            )
            theirs.close()
            async with process, self._send, self._started, anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen)
                try:
                    yield self
                finally:
                    tasks.cancel_scope.cancel()
                    process.kill()

    async def start(self, environ: Mapping[str, str], folder: Path, log: Path) -> DaemonProcess:
        life = Life(dict(environ), str(folder), str(log), _spares(environ, folder))
        async with self._starting:
            self._socket.send(life.pack())
            return await self._started.receive()

    async def _listen(self) -> None:
        while True:
            await anyio.wait_readable(self._socket)
            message = self._socket.recv(MESSAGE)
            if not message:
                raise OrchestratorError("the fork server has ended; see above")
            pid, code = json.loads(message)
            if code is None:
                self._lives[pid] = ForkedDaemon(pid)
                await self._send.send(self._lives[pid])
            else:
                ended = self._lives.pop(pid)
                ended.returncode = code
                ended.ended.set()


def _spares(environ: Mapping[str, str], folder: Path) -> tuple[str, ...]:
    """Return the modules that the daemon of a home starts as processes of their own."""
    servers = json.loads((folder / "agents.json").read_text("utf-8"))["mcpServers"]
    zygote = () if environ.get(SPAWN) == "exec" else ("thinker.zygote",)
    return (*zygote, "orchestrator.broker", *(("orchestrator.toolhost",) if servers else ()))
