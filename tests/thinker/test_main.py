"""The worker as a real process: by hand on stdin, and on a socket under a supervisor."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import orjson
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from fakes.scripted import MemoryHost, spec, turn_run
from fakes.time_limit import LIMIT, time_limit
from pydantic import JsonValue

from thinker.protocol import methods
from thinker.protocol.env import select_inherited_variables
from thinker.protocol.messages import ToolResult
from thinker.protocol.methods import (
    Ready,
    StepCommit,
    StepCommitted,
    ToolCallParams,
    TurnEnded,
)
from thinker.protocol.peer import Peer, connect_peer

pytestmark = pytest.mark.process

WORKER = (sys.executable, "-P", "-m", "thinker")
STRAY = "print('stray', flush=True); import runpy; runpy.run_module('thinker', None, '__main__')"


def by_hand(
    typed: bytes, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a worker with this stdin."""
    return subprocess.run(
        WORKER,
        input=typed,
        capture_output=True,
        timeout=LIMIT,
        check=False,
        cwd=cwd,
        env={**select_inherited_variables(os.environ), **(env or {})},
    )


class Child:
    """A worker on a socket, its supervisor's peer, and what it announced."""

    def __init__(self, process: Process, peer: Peer) -> None:
        self.process = process
        self.peer = peer
        self.host = MemoryHost()
        self.ready: list[Ready] = []
        self.announced = anyio.Event()
        peer.requests |= {methods.STEP_COMMIT: self._commit, methods.TOOL_CALL: self._call_tool}
        peer.notifications[methods.READY] = self._ready

    def _ready(self, params: JsonValue) -> None:
        self.ready.append(Ready.model_validate(params))
        self.announced.set()

    async def _commit(self, params: JsonValue) -> StepCommitted:
        return await self.host.commit_step(StepCommit.model_validate(params))

    async def _call_tool(self, params: JsonValue) -> ToolResult:
        return await self.host.call_tool(ToolCallParams.model_validate(params).seq)


@asynccontextmanager
async def started(
    argv: tuple[str, ...] = WORKER, env: Mapping[str, str] | None = None
) -> AsyncIterator[Child]:
    """A worker on one end of a socketpair."""
    ours, theirs = socket.socketpair()
    fd = theirs.fileno()
    environ = {**select_inherited_variables(os.environ), "THINKER_PEER_FD": str(fd), **(env or {})}
    with time_limit():
        async with await anyio.open_process(argv, env=environ, pass_fds=(fd,)) as process:
            theirs.close()
            try:
                async with connect_peer(ours) as peer:
                    yield Child(process, peer)
            finally:
                if process.returncode is None:
                    process.kill()


def test_lines_typed_by_hand_are_answered_by_the_demo_model() -> None:
    """No supervisor, no key, no configuration."""
    done = by_hand(b"hello\n")
    assert (done.returncode, done.stdout.decode().split("\n")[0]) == (0, "You said: hello")
    assert b"[Demo model:" in done.stdout


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
def test_standard_streams_are_utf8_whatever_the_locale(locale: str) -> None:
    """Invalid bytes are replaced."""
    done = by_hand("grüße \U0001f30d".encode() + b" \xff\n", {"LC_ALL": locale})
    assert done.returncode == 0
    assert done.stdout.decode().startswith("You said: grüße \U0001f30d \ufffd\n")


@pytest.mark.parametrize(
    ("env", "remedy"),
    [
        ({"THINKER_LLM_PROVIDER": "groq"}, "set GROQ_API_KEY"),
        ({"THINKER_LLM_PROVIDER": "ollama"}, 'set "model"'),
        ({"THINKER_LLM_PROVIDER": "grok"}, "use one of anthropic"),
        ({"THINKER_MAX_STEPS": "many"}, "max_steps"),
        ({"THINKER_SKILLS_DIRS": "/a:/b"}, "THINKER_SKILLS_DIRS is not a JSON list"),
    ],
)
def test_wrong_configuration_is_exit_code_78(env: dict[str, str], remedy: str) -> None:
    """The supervisor does not retry; the operator reads what to change, without a traceback."""
    done = by_hand(b"hello\n", env)
    assert (done.returncode, done.stdout) == (78, b"")
    assert remedy in done.stderr.decode().replace('\\"', '"')
    assert b"Traceback" not in done.stderr


def test_module_in_the_working_directory_is_not_imported(tmp_path: Path) -> None:
    """A file that a model wrote must not become part of the worker."""
    (tmp_path / "json.py").write_text("raise SystemExit('imported')", "utf-8")
    done = by_hand(b"hello\n", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let children receive SIGINT even if the suite ignores it in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
async def test_interrupt_ends_it_at_once_and_quietly() -> None:
    """Ctrl-C while it waits for a line."""
    with time_limit():
        async with await anyio.open_process(
            WORKER, env=select_inherited_variables(os.environ)
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            await process.stdin.send(b"hello\n")
            await BufferedByteReceiveStream(process.stdout).receive_until(b"Ollama.]", 4096)
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 130
            shown = b"".join([chunk async for chunk in process.stderr])
            assert b"Traceback" not in shown


async def test_worker_on_a_socket_runs_turns_with_tools() -> None:
    """Ready with its own pid, then a turn of the demo model through commit and tool call."""
    async with started() as child:
        await child.announced.wait()
        (ready,) = child.ready
        assert (ready.pid, ready.provider, ready.model) == (child.process.pid, "demo", "demo")
        assert ready.sandbox.level == "full"
        turn = turn_run("what time is it?", spec("get_time"))
        ended = await child.peer.call(methods.TURN_RUN, turn, TurnEnded, timeout=LIMIT)
        assert ended.turn_result.text.startswith("It is get_time.")
        assert (len(child.host.commits), child.host.ran) == (1, [2])


async def test_stray_output_cannot_corrupt_the_wire() -> None:
    """A library's print goes to stdout; the wire is the socket."""
    async with started((sys.executable, "-P", "-c", STRAY)) as child:
        turn = turn_run("hello")
        ended = await child.peer.call(methods.TURN_RUN, turn, TurnEnded, timeout=LIMIT)
        assert ended.turn_result.text.startswith("You said: hello")
        assert child.process.stdout is not None
        assert await child.process.stdout.receive() == b"stray\n"


async def test_worker_ends_when_its_socket_closes() -> None:
    """End-of-file means that the supervisor is dead or ends the worker."""
    async with started() as child:
        await child.announced.wait()
        child.peer.close()
        assert await child.process.wait() == 0


async def test_worker_dies_with_its_parent_though_the_socket_stays_open() -> None:
    """A process that inherited the socket must not keep an orphan alive."""
    ours, theirs = socket.socketpair()
    fds = (ours.fileno(), theirs.fileno())
    parent = (
        "import signal, subprocess\n"
        f"child = subprocess.Popen({WORKER!r}, pass_fds={fds!r})\n"
        "print(child.pid, flush=True)\n"
        "signal.pause()\n"
    )
    env = {**select_inherited_variables(os.environ), "THINKER_PEER_FD": str(fds[1])}
    argv = (sys.executable, "-P", "-c", parent)
    with time_limit():
        async with await anyio.open_process(argv, env=env, pass_fds=fds) as process:
            assert process.stdout is not None
            pidfd = os.pidfd_open(int(await process.stdout.receive()))
            try:
                await anyio.wait_readable(ours)  # it announced itself, so it is watching
                assert orjson.loads(ours.recv(4096).split(b"\n")[0])["method"] == methods.READY
                process.kill()
                await anyio.wait_readable(pidfd)
            finally:
                os.close(pidfd)
                ours.close()
                theirs.close()
