"""`orchestrator chat` on a pseudo-terminal, with a real daemon."""

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from fakes.daemon import RunningDaemon, running_daemon
from fakes.held_model import HeldModel, agent
from fakes.model_api import Reply
from fakes.time_limit import time_limit

from orchestrator.errors import ExitCode
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>])")
FACT = {"fact": "Likes tea.", "category": "preference"}
ROWS, COLUMNS = 12, 60


def config(model: HeldModel, **work: Any) -> JsonObject:
    """One agent, to whom all consoles lead."""
    console: JsonObject = {"channel": "console", "chatId": "*", "agentId": "work"}
    return {"agents": [agent("work", model, **work)], "bindings": [console]}


class Terminal:
    """A terminal in which a conversation runs."""

    def __init__(self, pid: int, file: int) -> None:
        self._pid, self._file = pid, file
        self._written = b""

    @property
    def text(self) -> str:
        """All that was written, without escapes."""
        return ESCAPES.sub("", self._written.decode(errors="replace")).replace("\r", "")

    async def shows(self, text: str, times: int = 1) -> None:
        """Wait until a text was written so often."""
        with time_limit():
            while self.text.count(text) < times:
                await anyio.wait_readable(self._file)
                self._written += os.read(self._file, 1 << 16)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._file, keys.encode())

    async def ended(self) -> int:
        """The exit code, once the program has ended."""
        with time_limit():
            while True:
                await anyio.wait_readable(self._file)
                try:
                    self._written += os.read(self._file, 1 << 16)
                except OSError:  # the other side is closed
                    break
            _, status = await to_thread.run_sync(os.waitpid, self._pid, 0)
        return os.waitstatus_to_exitcode(status)


@contextmanager
def terminal(daemon: RunningDaemon, *arguments: str) -> Iterator[Terminal]:
    """Run ``orchestrator chat`` on a new terminal."""
    program = [sys.executable, "-m", "orchestrator", "chat", *arguments]
    environment = {**os.environ, "TERM": "xterm", "ORCHESTRATOR_HOME": str(daemon.home)}
    pid, file = pty.fork()
    if pid == 0:
        os.execve(program[0], program, environment)  # noqa: S606 - a shell would be in the way
    fcntl.ioctl(file, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    try:
        yield Terminal(pid, file)
    finally:
        os.close(file)


async def test_conversation_with_a_call_an_approval_and_a_long_answer(tmp_path: Path) -> None:
    """The answer is longer than the screen; the next conversation begins with an excerpt."""
    lines = "\n\n".join(f"paragraph {number}." for number in range(40))
    async with HeldModel() as model:
        model.script.append(Reply("I note it.", tool_calls=(("store_fact", FACT),)))
        model.script.append(Reply(lines, chunk=50))
        settings = config(model, approvals=["store_*"])
        async with running_daemon(tmp_path, settings) as daemon:
            with terminal(daemon, "work") as console:
                await console.shows("work (openai work-model) in console:work")
                await console.shows(">")
                console.type("I like tea\r")
                await console.shows("Run it once? y/n >")
                assert '"fact": "Likes tea."' in console.text
                console.type("y\r")
                await console.shows("paragraph 39.")
                await console.shows('⚙ store_fact {"category"')
                console.type("\x04")
                assert await console.ended() == ExitCode.OK
            with terminal(daemon, "work") as console:
                await console.shows("> I like tea")
                await console.shows("paragraph 0.")
                console.type("/quit\r")
                assert await console.ended() == ExitCode.OK


async def test_unknown_agent_is_exit_64_and_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    """The reason is in plain text."""
    async with HeldModel() as model, running_daemon(tmp_path, config(model)) as daemon:
        with terminal(daemon, "wrok") as console:
            assert await console.ended() == ExitCode.USAGE
    assert "unknown agent 'wrok'; agents.json has: work" in console.text
