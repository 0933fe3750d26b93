"""Start a daemon of the self-test: executed, or forked by a warm process."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol, Self, TypeAlias

import anyio

from orchestrator.child_signals import Child
from orchestrator.control import protocol
from orchestrator.control.connection import open_control_connection
from orchestrator.control.protocol import StatusReport
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.selftest.crash.fork_server import Life
from orchestrator.extensions.selftest.crash.home_mark import mark_process
from orchestrator.processes.forked_spare import MESSAGE
from orchestrator.settings import Settings

SPAWN = "ORCHESTRATOR_SPAWN"
DAEMON = ("-P", "-m", "orchestrator", "run")
SERVER = ("-P", "-m", "orchestrator.extensions.selftest.crash.fork_server")
PAGE = ("orchestrator.extensions.page.page_app", "orchestrator.web.http_server")  # its imports
DATABASE = ("orchestrator.extensions.postgresql.pg_engine",)
POLL = 0.02  # seconds between two looks at a daemon that starts
ROOM = "." * 4096  # in the server's environment, which its daemons overwrite with theirs


class DaemonProcess(Child, Protocol):
    """A daemon's process."""


StartDaemon: TypeAlias = Callable[[Mapping[str, str], Path, Path], Awaitable[DaemonProcess]]


async def execute_daemon(
    environ: Mapping[str, str], folder: Path, log: Path, python: str = sys.executable
) -> DaemonProcess:
    """Execute a daemon with exactly this environment; its output goes to ``log``."""
    with log.open("wb") as file:
        process = await anyio.open_process(
            (python, *DAEMON),
            env=environ,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    mark_process(process.pid, folder)  # long before the daemon starts a process
    return process


async def wait_until_connected(
    process: DaemonProcess, settings: Settings, log: Path, within: float
) -> None:
    """Wait until a daemon answers and its tool servers are connected, for so many seconds.

    Raises:
        OrchestratorError: it has ended; ``log`` says why.
        TimeoutError: it takes longer.
    """
    with anyio.fail_after(within):
        while process.returncode is None:
            try:
                async with open_control_connection(settings) as peer:
                    report = await peer.call(protocol.STATUS, None, StatusReport, timeout=within)
            except Exception:  # noqa: BLE001, S110 - it has not opened its socket yet
                pass
            else:
                if all(server.state == "connected" for server in report.tool_servers):
                    return
            await anyio.sleep(POLL)
    raise OrchestratorError(f"the daemon ended; see {log}")


class ForkedDaemon:
    """A daemon that a `ForkServer` forked; the process id stays valid until `wait` returns."""

    def __init__(self, pid: int, server: socket.socket) -> None:
        self.pid = pid
        self._server = server
        self._code: int | None = None
        self._waiting = anyio.Lock()

    @property
    def returncode(self) -> int | None:
        if self._code is None:
            with suppress(BlockingIOError):
                return _parse_number(
                    self._server.recv(MESSAGE, socket.MSG_DONTWAIT | socket.MSG_PEEK)
                )
        return self._code

    async def wait(self) -> int:
        async with self._waiting:
            if self._code is None:
                self._code = await _receive_number(self._server)
                self._server.close()
            return self._code


class ForkServer:
    """``with ForkServer() as server``: `start` is a `StartDaemon` that takes milliseconds.

    ``environ`` is what the server's interpreter needs besides PATH, and ``modules`` are imported
    with those that every daemon needs, such as `PAGE`. It may serve several event loops, one after
    another.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        modules: Iterable[str] = (),
        python: str = sys.executable,
    ) -> None:
        self._environ = {"PATH": os.environ["PATH"], **(environ or {}), "ROOM": ROOM}
        self._command = (python, *SERVER, *modules)

    def __enter__(self) -> Self:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                self._command,
                env=self._environ,
                stdin=theirs.fileno(),
                start_new_session=True,  # Ctrl-C is only for the self-test
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()

    async def start(self, environ: Mapping[str, str], folder: Path, log: Path) -> DaemonProcess:
        with log.open("wb") as file:
            return await self.fork_daemon(
                environ, folder, file.fileno(), _list_spares(environ, folder)
            )

    async def fork_daemon(
        self, environ: Mapping[str, str], folder: Path, log: int, spares: tuple[str, ...]
    ) -> ForkedDaemon:
        """Fork a daemon that logs to the descriptor ``log``, with these modules as spares."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            life = Life(dict(environ), str(folder), spares)
            socket.send_fds(self._socket, [life.pack()], [theirs.fileno(), log])
        try:
            return ForkedDaemon(await _receive_number(ours), ours)
        except BaseException:
            ours.close()  # the server then kills the daemon
            raise


async def _receive_number(server: socket.socket) -> int:
    await anyio.wait_readable(server)
    return _parse_number(server.recv(MESSAGE))


def _parse_number(message: bytes) -> int:
    if not message:
        raise OrchestratorError("the fork server has ended; see above")
    return int(message)


def _list_spares(environ: Mapping[str, str], folder: Path) -> tuple[str, ...]:
    """Return the modules that the daemon of a home starts as separate processes."""
    config = json.loads((folder / "agents.json").read_text("utf-8"))
    forks = environ.get(SPAWN) != "exec"
    wanted = {
        "thinker.zygote": forks,
        "orchestrator.broker": not forks,  # the zygote forks it
        "orchestrator.extensions.mcp_client.toolhost": bool(config.get("mcpServers")),
        "orchestrator.extensions.page": "web" in config.get("channels", ()),
    }
    return tuple(module for module, is_wanted in wanted.items() if is_wanted)
