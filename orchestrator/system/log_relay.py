"""What happens to the log lines of the daemon: a copy in the home, and words on a terminal.

All processes of the daemon inherit one standard error and write JSON lines to it. The relay puts a
pipe there. A thread of the supervisor reads it, keeps the lines in the home's log and passes them
on: as they are, or as sentences if a terminal shows them. The pipe never makes a writer wait: when
nothing is read (a terminal that is stopped), lines are lost.
"""

import fcntl
import json
import os
import select
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import orjson
import structlog

from orchestrator.errors import OrchestratorError, only_cause
from orchestrator.system.log_file import LogFile
from orchestrator.system.start_block import start_block
from thinker.protocol.folded_lines import fold
from thinker.protocol.log_sentences import INDENT, colors_wanted, sentence

STDERR = 2
UNKNOWN_COLUMNS = 100_000  # of a terminal that does not say its width
PIPE_SIZE = 1 << 20  # bytes; what Linux lets an ordinary user have
CHUNK = 1 << 16  # bytes
MAX_LINE = 1 << 20  # bytes; a longer line is passed on in parts
TOGETHER = 50  # milliseconds in which lines are gathered: each time the thread runs, the loop waits
LAST_LINES = 2.0  # seconds for the last lines to go out
log = structlog.get_logger()


def kept_by_journald(environ: Mapping[str, str]) -> bool:
    """Return whether standard error goes to systemd's journal, which keeps the log itself."""
    device, _, inode = environ.get("JOURNAL_STREAM", "").partition(":")
    found = os.fstat(STDERR)
    return (device, inode) == (str(found.st_dev), str(found.st_ino))


@contextmanager
def relayed(path: Path, environ: Mapping[str, str]) -> Iterator[None]:
    """Relay the log lines of this process and its children, unless systemd keeps them.

    ``path`` is the file that keeps them. It also gets the error that ends the block, which the
    command line shows afterwards.
    """
    if kept_by_journald(environ):
        yield
        return
    target = os.dup(STDERR)
    reader, writer = os.pipe()
    wake_reader, wake = os.pipe()
    for fd in (reader, writer):
        os.set_blocking(fd, False)
    with suppress(OSError):  # the user's pipes have the memory that they may have
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    os.dup2(writer, STDERR)
    os.close(writer)
    relay = _Relay(path, target)
    thread = Thread(target=relay.run, args=(reader, wake_reader), name="log", daemon=True)
    thread.start()
    last = b""
    try:
        yield
    except Exception as error:
        last = _failure("daemon_failed", error)
        raise
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        os.dup2(target, STDERR)
        os.close(wake)
        thread.join(LAST_LINES)  # it may write to a terminal that is stopped
        if not thread.is_alive():
            relay.keep(last)
            for fd in (reader, wake_reader, target):
                os.close(fd)


class _Relay:
    def __init__(self, path: Path, target: int) -> None:
        self._file = LogFile(path, lambda problem: log.warning("log_not_kept", problem=problem))
        self._target = target
        self._terminal = os.isatty(target)
        self._rest = b""

    def run(self, reader: int, wake: int) -> None:
        """Pass on what is written to the pipe, until ``wake`` is closed and the pipe is empty."""
        lines, closed = select.poll(), select.poll()
        lines.register(reader, select.POLLIN)
        for poll in (lines, closed):
            poll.register(wake, select.POLLIN)
        over = False
        while not over:
            lines.poll()
            over = bool(closed.poll(TOGETHER))
            while data := _read(reader):
                self._take(data)
        self._pass_on(self._rest)

    def keep(self, line: bytes) -> None:
        """Write a last line to the file alone."""
        if line:
            self._file.write(line)
        self._file.close()

    def _take(self, data: bytes) -> None:
        whole, found, rest = (self._rest + data).rpartition(b"\n")
        if not found and len(rest) > MAX_LINE:
            whole, rest = rest, b""
        self._rest = rest
        self._pass_on(whole + found)

    def _pass_on(self, lines: bytes) -> None:
        if not lines:
            return
        self._file.write(lines)
        text = b"".join(map(self._shown, lines.splitlines(keepends=True)))
        with suppress(OSError):
            while text:
                text = text[os.write(self._target, text) :]

    def _shown(self, line: bytes) -> bytes:
        """Return how the target gets a line."""
        if not self._terminal:
            return line
        event = as_event(line)
        if event is None:
            return line
        block = start_block(event) if event["event"] == "ready" else ""
        told = fold(sentence(event, colored=colors_wanted()), self._columns(), INDENT)
        return f"{told}\n{block}".encode("utf-8", "replace")

    def _columns(self) -> int:
        """Return the columns that a line of the terminal may fill."""
        try:
            return (os.get_terminal_size(self._target).columns or UNKNOWN_COLUMNS) - 1
        except OSError:
            return UNKNOWN_COLUMNS


def as_event(line: bytes) -> dict[str, object] | None:
    """Return a line's event; None for other lines, such as those of a traceback."""
    try:
        event = orjson.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "event" in event else None


def _failure(name: str, error: Exception) -> bytes:
    """Return the event of an error; what was not raised on purpose has its traceback."""
    cause = only_cause(error)
    expected = isinstance(cause, OrchestratorError)
    event = {
        "problem": str(cause) if expected else f"{type(cause).__name__}: {cause}",
        "event": name,
        "level": "error",
        "timestamp": datetime.now(UTC).isoformat(),
    }
    if not expected:
        event["exception"] = "".join(traceback.format_exception(cause))
    return json.dumps(event).encode() + b"\n"


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        return b""
