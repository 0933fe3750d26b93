"""Start jailed commands, and collect their output without ever holding much of it.

Where: is the output of a command truncated?
"""

import os
import selectors
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from orchestrator.extensions.workspace.command_order import CommandEnd, CommandOrder

ARGV = (sys.executable, "-P", "-m", "orchestrator.extensions.workspace.command_jail")
MAX_CONCURRENT = 4  # commands of one server; further ones wait
CHUNK = 64 * 1024
TICK = 0.1  # seconds between two checks whether the call was cancelled
GRACE = 10.0  # seconds beyond the time limit in which the jail must report
LAST_OUTPUT = 1.0  # seconds for output after the end; every process that writes is dead
MAX_OUTPUT = 64 * 1024 * 1024  # bytes, after which a command is ended
INHERITED = ("LANG", "TZ")


@dataclass
class ShortenedOutput:
    """The beginning and the end of a stream, of which at most ``keep`` bytes are held."""

    keep: int
    written: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: deque[bytes] = field(default_factory=deque)
    _held: int = 0  # bytes in the tail

    def add(self, data: bytes) -> None:
        self.written += len(data)
        room = max(0, self.keep // 2 - len(self._head))
        self._head += data[:room]
        if len(data) > room:
            self._tail.append(data[room:])
            self._held += len(data) - room
            while self._held - len(self._tail[0]) >= self.keep // 2:
                self._held -= len(self._tail.popleft())

    def format_output(self) -> str:
        """Return the output, with a note in place of what was left out."""
        head, tail = bytes(self._head), b"".join(self._tail)
        cut = max(0, len(tail) - self.keep // 2)
        left_out = self.written - len(head) - len(tail) + cut
        if left_out <= 0 or self.written <= self.keep:
            return (head + tail).decode("utf-8", "replace")
        note = f"\n[… {left_out} bytes left out …]\n"
        return head.decode("utf-8", "replace") + note + tail[cut:].decode("utf-8", "replace")


@dataclass(frozen=True)
class CommandResult:
    """How a command ended, and the text that it wrote."""

    end: CommandEnd
    stdout: str
    stderr: str
    seconds: float


@dataclass
class CommandRunner:
    """Runs commands of one server, a few at a time; returns ``keep`` bytes of each stream."""

    keep: int
    _turns: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MAX_CONCURRENT))

    def run(self, order: CommandOrder, cancelled: threading.Event) -> CommandResult:
        """Run a command to its end; kill it with all that it started when the call is cancelled."""
        while not self._turns.acquire(timeout=TICK):
            if cancelled.is_set():
                return CommandResult(
                    CommandEnd(problem="it was cancelled", refused=True), "", "", 0
                )
        try:
            with ExitStack() as stack:
                return _RunningCommand(order, self.keep, stack).read_until_end(cancelled)
        finally:
            self._turns.release()


class _RunningCommand:
    """One command: its jail, and the pipes to it."""

    def __init__(self, order: CommandOrder, keep: int, stack: ExitStack) -> None:
        self._began = time.monotonic()
        self._deadline = self._began + order.limits.seconds + GRACE
        self._out, self._err = ShortenedOutput(keep), ShortenedOutput(keep)
        self._report = bytearray()
        self._problem = ""
        report, report_end = os.pipe()
        stack.callback(os.close, report)
        # The jail ends the command when this pipe closes, also because this process died.
        self._process = stack.enter_context(
            subprocess.Popen(
                [*ARGV, order.to_json(), str(report_end)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[report_end, *([order.stdin] if order.stdin >= 0 else [])],
                env=_build_environment(),
                start_new_session=True,
            )
        )
        os.close(report_end)
        self._selector = stack.enter_context(selectors.DefaultSelector())
        assert self._process.stdout is not None  # noqa: S101 - pipes were asked for
        assert self._process.stderr is not None  # noqa: S101 - the same
        sinks = ((self._process.stdout.fileno(), self._out.add),)
        for fd, add in (
            *sinks,
            (self._process.stderr.fileno(), self._err.add),
            (report, self._report.extend),
        ):
            self._selector.register(fd, selectors.EVENT_READ, add)
        self._report_fd = report

    def read_until_end(self, cancelled: threading.Event) -> CommandResult:
        """Read until the command has ended and the pipes are closed."""
        until = self._deadline
        while self._selector.get_map() and time.monotonic() < until:
            for key, _ in self._selector.select(TICK):
                data = os.read(key.fd, CHUNK)
                if data:
                    key.data(data)
                else:
                    self._selector.unregister(key.fd)
                    if key.fd == self._report_fd:
                        until = min(until, time.monotonic() + LAST_OUTPUT)
            if cancelled.is_set():
                self._end_command("it was cancelled")
            elif self._out.written + self._err.written > MAX_OUTPUT:
                self._end_command(f"it wrote more than {MAX_OUTPUT // 1024**2} MiB")
        if not self._report:
            # The jail goes on to end what is left; killed, it would set that free.
            self._end_command("its processes could not be ended in time")
        end = CommandEnd.from_json(self._report.decode()) if self._report else CommandEnd()
        if self._problem:
            end = CommandEnd(end.code, self._problem)
        took = time.monotonic() - self._began
        return CommandResult(end, self._out.format_output(), self._err.format_output(), took)

    def _end_command(self, problem: str) -> None:
        if not self._problem and self._process.stdin is not None:
            self._problem = problem
            self._process.stdin.close()


def _build_environment() -> dict[str, str]:
    """Return the environment of the jail itself; the command gets that of its order."""
    return {key: value for key in INHERITED if (value := os.environ.get(key))}


def describe_result(result: CommandResult) -> str:
    """Return a result as the model reads it."""
    parts: Sequence[str] = (
        f"exit code {result.end.code} after {result.seconds:.1f} s"
        + (f"; ended because {result.end.problem}" if result.end.problem else ""),
        result.stdout.rstrip("\n"),
        f"stderr:\n{result.stderr.rstrip(chr(10))}" if result.stderr.strip() else "",
    )
    return "\n".join(part for part in parts if part)
