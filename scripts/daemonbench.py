"""A whole daemon and a stub model, for the benches that send messages."""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import anyio

from orchestrator.control import protocol
from orchestrator.control.connection import open_control_connection
from orchestrator.control.protocol import ChatOutcome, ChatSend, ChatWait
from orchestrator.settings import Settings
from thinker.protocol.peer import Peer

RUN = ("-P", "-m", "orchestrator", "run")
WITHIN = 60.0  # seconds allowed for each message
START_WITHIN = 300.0  # seconds allowed for a start; ten thousand agents on a busy machine need it
LOOK = 0.005  # seconds between two looks into a log


@dataclass(frozen=True)
class Running:
    """A daemon's control connection, its process id, and the milliseconds until it was ready."""

    peer: Peer
    pid: int
    ready_ms: float

    async def ask(
        self,
        agent: str,
        text: str,
        chat: str = "",
        answer: str = "done",
        within: float = WITHIN,
    ) -> float:
        """Send a message and return the milliseconds until its reply, which must be ``answer``.

        Raises:
            TimeoutError: there is no reply ``within`` so many seconds.
        """
        message = uuid4().hex
        start = time.perf_counter()
        send = ChatSend(chat=chat or uuid4().hex, message=message, text=text, agent=agent)
        await self.peer.request(protocol.CHAT_SEND, send, timeout=within)
        wait = ChatWait(message=message, seconds=within)
        outcome = await self.peer.call(protocol.CHAT_WAIT, wait, ChatOutcome, timeout=within)
        taken = (time.perf_counter() - start) * 1000
        if outcome.texts != (answer,):
            raise SystemExit(f"wrong answer: {outcome}")
        return taken


@dataclass(frozen=True)
class Outside:
    """What a bench's daemon has besides agents: settings of the whole file, and environment."""

    top: dict[str, object] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)


def telegram(token: str, url: str, agent: str) -> Outside:
    """Return a bot that lets everyone write to an agent, with the Bot API at ``url``."""
    bindings = [{"channel": "telegram", "chatId": "*", "agentId": agent}]
    top = {"channels": {"telegram": {"access": "open"}}, "bindings": bindings}
    return Outside(top, {"TELEGRAM_BOT_TOKEN": token, "TELEGRAM_API_URL": url})


async def at_once(
    say: Callable[[int], Awaitable[float]], conversations: int, messages: int
) -> dict[str, float]:
    """Let conversations send their messages one after the other, by ``say`` with their number.

    Return messages per second, and quantiles of the milliseconds that ``say`` returns.
    """
    taken: list[float] = []

    async def converse(number: int) -> None:
        taken.extend([await say(number) for _ in range(messages)])

    start = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for number in range(conversations):
            tasks.start_soon(converse, number)
    rate = len(taken) / (time.perf_counter() - start)
    cuts = statistics.quantiles(taken, n=100)
    return {"per_second": rate, "p50_ms": cuts[49], "p99_ms": cuts[98]}


@asynccontextmanager
async def stub_model(bench: str = "bench_turn") -> AsyncIterator[str]:
    """Start a bench's stub model in its own process and yield its address."""
    command = (sys.executable, str(Path(__file__).with_name(bench)), "--stub")
    async with await anyio.open_process(command, stderr=None) as stub:
        if stub.stdout is None:
            raise SystemExit("the stub has no output")
        try:
            yield f"http://127.0.0.1:{int(await stub.stdout.receive())}/v1"
        finally:
            stub.kill()


def configure(
    home: Path, url: str, agents: Sequence[str], fields: dict[str, object], **top: object
) -> dict[str, str]:
    """Write agents.json and return the environment of the home's daemon.

    Each agent calls the model of its own name at ``url``. ``fields`` are settings of all agents,
    ``top`` are those of the whole file.
    """
    common: dict[str, object] = {"llmProvider": "openai", "baseUrl": url, "maxSteps": 12}
    common |= {"limits": {"maxConcurrentTurns": 64}}
    common |= {"compaction": {"enabled": False}, "factExtraction": {"enabled": False}}
    defined = [{"agentId": name, "model": name, **common, **fields} for name in agents]
    (home / "agents.json").write_text(json.dumps({"agents": defined, **top}), "utf-8")
    return {
        **os.environ,
        "HOME": str(home),
        "ORCHESTRATOR_HOME": str(home),
        "OPENAI_API_KEY": "none",
    }


def python_of(tree: Path | None) -> str:
    """Return the Python of a checkout's own environment; without one, of this process."""
    return sys.executable if tree is None else str(tree.absolute() / ".venv" / "bin" / "python")


class Logged:
    """A daemon that is known by its log, as one that stands by is."""

    def __init__(self, home: Path, env: dict[str, str]) -> None:
        self.log = home / f"log-{uuid4().hex}"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                (sys.executable, *RUN), env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    async def until(self, event: str) -> float:
        """Return when a line of the log has an event."""
        mark = f'"event":"{event}"'.encode()
        for _ in range(round(WITHIN / LOOK)):
            if mark in self.log.read_bytes():
                return time.monotonic()
            await anyio.sleep(LOOK)
        raise SystemExit(f"no {event}: {self.log.read_text('utf-8')}")

    def end(self) -> None:
        """Kill it, also if it is frozen."""
        for number in (signal.SIGKILL, signal.SIGCONT):
            self.process.send_signal(number)
        self.process.wait()


@asynccontextmanager
async def daemon(
    home: Path,
    url: str,
    agents: Sequence[str],
    tree: Path | None = None,
    outside: Outside = Outside(),
    command: Sequence[str] = RUN,
    **fields: object,
) -> AsyncIterator[Running]:
    """Start a daemon in ``home``, with the parameters of `configure`. The log is in the home.

    ``tree`` is another installed checkout whose daemon is started in place of this one's, by its
    Python with the arguments of ``command``.
    """
    notify = home / "notify"
    env = configure(home, url, agents, fields, **outside.top)
    env |= {"NOTIFY_SOCKET": str(notify), **outside.env}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        notify.unlink(missing_ok=True)  # an earlier daemon may have left it
        notices.bind(str(notify))
        start = time.perf_counter()
        with (home / "log").open("w") as log:
            process = await anyio.open_process((python_of(tree), *command), env=env, stderr=log)
        async with process:
            try:
                with anyio.fail_after(START_WITHIN):
                    await _ready(notices)
                ready = (time.perf_counter() - start) * 1000
                async with open_control_connection(Settings.read_environ(env)) as peer:
                    yield Running(peer, process.pid, ready)
            finally:
                process.send_signal(signal.SIGTERM)


async def _ready(notices: socket.socket) -> None:
    """Wait for the daemon's readiness notification to systemd."""
    while True:
        await anyio.wait_readable(notices)
        if b"READY=1" in notices.recv(4096):
            return
