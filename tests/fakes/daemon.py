"""A real daemon process on a home of its own: started, asked, watched, and seen to leave nothing.

``async with running_daemon(home, config, bot) as daemon``. What belongs to a daemon is known by
a mark that workers inherit, so that all strays are found. A warm process forks the daemons, as
those of the crash self-test: an executed one spends most of its life on imports.
"""

import atexit
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, TypeVar

import anyio
from fakes.bot_api import FakeBotApi
from fakes.postgresql import POSTGRESQL, store_of
from fakes.time_limit import LIMIT, time_limit
from pydantic import BaseModel

from orchestrator.child_signals import signal_child
from orchestrator.control import protocol
from orchestrator.control.connection import open_control_connection
from orchestrator.control.protocol import StatusReport
from orchestrator.extensions.selftest.crash.daemon_process import (
    DATABASE,
    PAGE,
    SPAWN,
    DaemonProcess,
    ForkServer,
)
from orchestrator.extensions.selftest.crash.home_mark import list_marked_processes, mark_process
from orchestrator.settings import Settings
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import Params

COMMAND = (sys.executable, "-P", "-m", "orchestrator", "run")
TOKEN = "123456:integration-token"
PASSED = ("PATH", "ORCHESTRATOR_SPAWN")  # so that everything can be run in the other mode
READ = 1 << 16  # bytes of the log at once
GLANCE = 0.1  # seconds until a status is asked for again when the log is silent
R = TypeVar("R", bound=BaseModel)


@dataclass
class RunningDaemon:
    """One daemon. ``log`` holds its log and its workers'; ``noise`` what was no JSON."""

    home: Path
    process: DaemonProcess
    settings: Settings
    log: list[dict[str, Any]] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    killed: bool = False
    silent: bool = False  # the log takes no more lines
    _changed: anyio.Event = field(default_factory=anyio.Event)

    async def ask(self, method: str, params: Params, result: type[R]) -> R:
        """One request over the control socket."""
        async with open_control_connection(self.settings) as peer:
            return await peer.call(method, params, result, timeout=LIMIT)

    async def status(self) -> StatusReport:
        """What ``orchestrator status`` shows."""
        return await self.ask(protocol.STATUS, None, StatusReport)

    async def until(self, condition: Callable[[StatusReport], bool]) -> StatusReport:
        """The first status of which ``condition`` holds.

        Raises:
            TimeoutError: it never did.
        """
        with time_limit():
            while not condition(report := await self.status()):
                with anyio.move_on_after(GLANCE):
                    await self._changed.wait()
        return report

    async def logged(self, event: str, times: int = 1, **facts: object) -> dict[str, Any]:
        """The ``times``-th line of an event with these facts, waited for.

        Raises:
            TimeoutError: it never came.
        """
        with time_limit():
            while len(found := self._lines(event, facts)) < times:
                assert not self.silent, f"the daemon ended without {event}"
                await self._changed.wait()
        return found[times - 1]

    async def pid(self, agent_id: str) -> int:
        """The process of an agent, waited for."""

        def found(report: StatusReport) -> list[int]:
            return [a.pid for a in report.agents if a.agent_id == agent_id and a.pid]

        return found(await self.until(lambda report: bool(found(report))))[0]

    async def kill(self) -> None:
        """``kill -9``; returns when its process is gone, and not its children."""
        self.signal(signal.SIGKILL)
        await self.died()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal; it may just have ended."""
        signal_child(self.process, number)

    async def died(self) -> None:
        """Wait until it is gone, as it was killed."""
        self.killed = True
        await self.ended()

    async def ended(self) -> int:
        """The exit code, waited for."""
        with time_limit():
            return await self.process.wait()

    def write(self, config: JsonObject | str) -> None:
        """Replace agents.json as an editor does."""
        write_config(self.home, config)

    async def read(self, stderr: int) -> None:
        """Keep the log, line by line, until the last process that holds it ends."""
        rest = b""
        while True:
            await anyio.wait_readable(stderr)
            more = os.read(stderr, READ)
            *lines, rest = (rest + more).split(b"\n")
            for line in lines:
                try:
                    self.log.append(json.loads(line))
                except ValueError:
                    self.noise.append(line.decode())
            self.silent = not more
            self._notify()
            if not more:
                return

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def _lines(self, event: str, facts: Mapping[str, object]) -> list[dict[str, Any]]:
        wanted = {"event": event, **facts}
        return [line for line in self.log if wanted.items() <= line.items()]


@asynccontextmanager
async def running_daemon(
    home: Path,
    config: JsonObject | str | None,
    bot: FakeBotApi | None = None,
    env: Mapping[str, str] | None = None,
    *,
    executed: bool = False,
    awaits: str = "ready",
) -> AsyncIterator[RunningDaemon]:
    """A daemon that has logged what it ``awaits``; None leaves the agents.json of an earlier one.

    At the end it is stopped, unless it was killed: it must exit 0, have logged nothing but JSON
    and leave no process. ``executed``: by its interpreter, for a test of what its memory holds.
    """
    environ = environment(home, bot, env)
    if config is not None:
        write_config(home, config)
    log, theirs = os.pipe()
    try:
        process = await (_execute if executed else _fork)(environ, home, theirs)
    finally:
        os.close(theirs)
    daemon = RunningDaemon(home, process, Settings.read_environ(environ))
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(daemon.read, log)
            async with _killed_on_failure(process):
                await daemon.logged(awaits)
                yield daemon
                await _stop(daemon)
            tasks.cancel_scope.cancel()
    except BaseException as error:
        error.add_note("\n".join([*map(str, daemon.log[-40:]), *daemon.noise[-40:]]))
        raise
    finally:
        os.close(log)
        for pid in processes(home):
            os.kill(pid, signal.SIGKILL)


@cache
def _server() -> ForkServer:
    """The warm process of this test process."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(ForkServer(modules=(*PAGE, *(DATABASE if POSTGRESQL else ()))))


async def _fork(environ: Mapping[str, str], home: Path, log: int) -> DaemonProcess:
    """Fork a daemon, and what it is about to start."""
    config = home / "agents.json"
    text = config.read_text("utf-8") if config.is_file() else ""
    executes = environ.get(SPAWN) == "exec"
    spares = ["orchestrator.broker" if executes else "thinker.zygote"]  # which forks the broker
    if "mcpServers" in text or "workspace" in text:
        spares.append("orchestrator.extensions.mcp_client.toolhost")
    if '"web"' in text:
        spares.append("orchestrator.extensions.page")
    return await _server().fork_daemon(environ, home, log, tuple(spares))


async def _execute(environ: Mapping[str, str], home: Path, log: int) -> DaemonProcess:
    """Execute a daemon as a shell does."""
    process = await anyio.open_process(
        COMMAND, env=environ, cwd=home, stdin=DEVNULL, stdout=log, stderr=log
    )
    mark_process(process.pid, home)  # long before it starts a process
    return process


@asynccontextmanager
async def _killed_on_failure(process: DaemonProcess) -> AsyncIterator[None]:
    """A test that failed must not wait for a daemon that was not asked to stop."""
    try:
        yield
    except BaseException:
        signal_child(process, signal.SIGKILL)
        raise
    finally:
        with anyio.CancelScope(shield=True), time_limit():
            await process.wait()


async def _stop(daemon: RunningDaemon) -> None:
    if daemon.killed:
        return
    daemon.signal(signal.SIGTERM)
    assert await daemon.ended() == 0
    assert daemon.noise == []
    assert processes(daemon.home) == {}


async def run_to_its_end(
    home: Path, env: Mapping[str, str] | None = None, bot: FakeBotApi | None = None
) -> tuple[int, str]:
    """Exit code and stderr of a daemon that cannot start."""
    with time_limit():
        done = await anyio.run_process(
            COMMAND, env=environment(home, bot, env), cwd=home, check=False, stdin=DEVNULL
        )
    return done.returncode, done.stderr.decode()


def environment(
    home: Path, bot: FakeBotApi | None, env: Mapping[str, str] | None
) -> dict[str, str]:
    """A daemon's whole environment: its home, the fake Telegram, nothing of ours but PATH."""
    telegram = {"TELEGRAM_BOT_TOKEN": bot.token, "TELEGRAM_API_URL": bot.url} if bot else {}
    passed = {name: os.environ[name] for name in PASSED if name in os.environ}
    own = {**passed, "HOME": str(home), "ORCHESTRATOR_HOME": str(home), **store_of(home)}
    own["ORCHESTRATOR_LOG_LEVEL"] = "debug"  # tests wait for events
    return {**own, **telegram, **(env or {})}


def write_config(home: Path, config: JsonObject | str) -> None:
    """Write agents.json whole."""
    fresh = home / "agents.json.new"
    fresh.write_text(config if isinstance(config, str) else json.dumps(config, indent=2), "utf-8")
    fresh.replace(home / "agents.json")


def dying(place: str, home: Path) -> dict[str, str]:
    """The environment in which a daemon or its workers die there (`orchestrator.failpoints`)."""
    return {"ORCHESTRATOR_CRASH_AT": place, "ORCHESTRATOR_CRASH_LOG": str(home / "crashes")}


@asynccontextmanager
async def ending(pids: Iterable[int]) -> AsyncIterator[None]:
    """The end of these processes, which is awaited after the block."""
    watches = [os.pidfd_open(pid) for pid in pids]
    yield
    with time_limit():
        for watch in watches:
            await anyio.wait_readable(watch)
            os.close(watch)


def processes(home: Path) -> dict[int, tuple[str, ...]]:
    """Every living process of this home, with its argv."""
    found = {}
    for pid in list_marked_processes(home):
        with suppress(OSError):  # it ended meanwhile
            found[pid] = _shown_arguments(pid)
    return found


def _shown_arguments(pid: int) -> tuple[str, ...]:
    """A process's argv; behind that of a forked one there is unused room."""
    return tuple(Path(f"/proc/{pid}/cmdline").read_text("utf-8").rstrip("\0").split("\0"))


def journal_bytes(home: Path) -> bytes:
    """Everything that the journal's files hold."""
    return b"".join(path.read_bytes() for path in home.glob("journal.db*"))
