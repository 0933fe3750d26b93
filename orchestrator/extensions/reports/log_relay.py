"""Relay the daemon's log lines: a copy to the home, readable text to a terminal.

All processes of the daemon inherit one standard error and write JSON lines to it. The relay puts a
pipe there. A thread of the supervisor reads it, keeps the lines in the home's log and passes them
on: as they are, or as sentences if a terminal shows them. The pipe never makes a writer wait: when
nothing is read (a terminal that is stopped), lines are lost.

Where: do log lines go to the home and the terminal?
"""

import fcntl
import json
import os
import select
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import orjson
import structlog

from orchestrator.errors import OrchestratorError, unwrap_cause
from orchestrator.extensions.reports.start_block import format_start_block
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError
from thinker.protocol.folded_lines import fold_lines
from thinker.protocol.log_sentences import INDENT, format_sentence, is_color_wanted

STDERR = 2
UNKNOWN_COLUMNS = 100_000  # of a terminal that does not say its width
PIPE_SIZE = 1 << 20  # bytes; what Linux lets an ordinary user have
CHUNK = 1 << 16  # bytes
MAX_LINE = 1 << 20  # bytes; a longer line is passed on in parts
GATHER_MS = 50  # milliseconds in which lines are gathered: the loop waits while the thread runs
LAST_LINES_SECONDS = 2.0  # seconds for the last lines to go out
log = structlog.get_logger()


def is_kept_by_journald(environ: Mapping[str, str]) -> bool:
    """Return whether standard error goes to systemd's journal, which keeps the log itself."""
    device, _, inode = environ.get("JOURNAL_STREAM", "").partition(":")
    found = os.fstat(STDERR)
    return (device, inode) == (str(found.st_dev), str(found.st_ino))


@contextmanager
def relay_log(path: Path, environ: Mapping[str, str]) -> Iterator[None]:
    """Relay the log lines of this process and its children, unless systemd keeps them.

    ``path`` is the file that keeps them. It also gets the error that ends the block, which the
    command line shows afterwards.
    """
    if is_kept_by_journald(environ):
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
    thread = Thread(target=relay.relay_lines, args=(reader, wake_reader), name="log", daemon=True)
    thread.start()
    last = b""
    try:
        yield
    except Exception as error:
        last = _format_failure("daemon_failed", error)
        raise
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        os.dup2(target, STDERR)
        os.close(wake)
        thread.join(LAST_LINES_SECONDS)  # it may write to a terminal that is stopped
        if not thread.is_alive():
            relay.write_last_line(last)
            for fd in (reader, wake_reader, target):
                os.close(fd)


class _Relay:
    def __init__(self, path: Path, target: int) -> None:
        self._file = LogFile(path, lambda problem: log.warning("log_not_kept", problem=problem))
        self._target = target
        self._terminal = os.isatty(target)
        self._rest = b""

    def relay_lines(self, reader: int, wake: int) -> None:
        """Pass on what is written to the pipe, until ``wake`` is closed and the pipe is empty."""
        lines, closed = select.poll(), select.poll()
        lines.register(reader, select.POLLIN)
        for poll in (lines, closed):
            poll.register(wake, select.POLLIN)
        over = False
        while not over:
            lines.poll()
            over = bool(closed.poll(GATHER_MS))
            while data := _read_available(reader):
                self._take_data(data)
        self._write_lines(self._rest)

    def write_last_line(self, line: bytes) -> None:
        """Write a last line to the file only."""
        if line:
            self._file.write(line)
        self._file.close()

    def _take_data(self, data: bytes) -> None:
        whole, found, rest = (self._rest + data).rpartition(b"\n")
        if not found and len(rest) > MAX_LINE:
            whole, rest = rest, b""
        self._rest = rest
        self._write_lines(whole + found)

    def _write_lines(self, lines: bytes) -> None:
        if not lines:
            return
        self._file.write(lines)
        text = lines
        if self._terminal:
            text = b"".join(map(self._format_line, lines.splitlines(keepends=True)))
        with suppress(OSError):
            while text:
                text = text[os.write(self._target, text) :]

    def _format_line(self, line: bytes) -> bytes:
        """Format a line for a terminal."""
        event = parse_event(line)
        if event is None:
            return line
        block = format_start_block(event) if event["event"] == "ready" else ""
        told = fold_lines(
            format_sentence(event, colored=is_color_wanted()), self._count_columns(), INDENT
        )
        return f"{told}\n{block}".encode("utf-8", "replace")

    def _count_columns(self) -> int:
        """Return the columns that a line of the terminal may fill."""
        try:
            return (os.get_terminal_size(self._target).columns or UNKNOWN_COLUMNS) - 1
        except OSError:
            return UNKNOWN_COLUMNS


def parse_event(line: bytes) -> dict[str, object] | None:
    """Parse a line's event; None for other lines, such as those of a traceback."""
    try:
        event = orjson.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "event" in event else None


def _format_failure(name: str, error: Exception) -> bytes:
    """Format an error as an event, with a traceback if it was not raised on purpose."""
    cause = unwrap_cause(error)
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


def _read_available(fd: int) -> bytes:
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        return b""


LIMIT = 8 * regular_file.MIB  # bytes of each of the two files
FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW


def find_older_file(path: Path) -> Path:
    """Return the file with the lines before the last rotation."""
    return path.with_name(f"{path.name}.1")


class LogFile:
    """Appends to a log, readable only by its owner.

    ``failed`` is called with the reason when lines begin to be lost.
    """

    def __init__(self, path: Path, failed: Callable[[str], None], limit: int = LIMIT) -> None:
        self._path = path
        self._tell = failed
        self._limit = limit
        self._fd: int | None = None
        self._size = 0
        self._failed = False

    def write(self, lines: bytes) -> None:
        size, fd = self._size + len(lines), self._fd
        try:
            if fd is None or size > self._limit or not os.fstat(fd).st_nlink:  # it was deleted
                fd = self._open_with_room(len(lines))
            os.write(fd, lines)
        except (OSError, FileError) as error:
            self.close()
            if not self._failed:
                self._failed = True
                reason = error.strerror if isinstance(error, OSError) else error
                self._tell(f"{self._path}: {reason}; lines are lost")
        else:
            self._size += len(lines)
            self._failed = False

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open_with_room(self, more: int) -> int:
        """Reopen a file with room for ``more`` bytes; return its descriptor."""
        self.close()
        self._fd = self._open_file()
        if self._size and self._size + more > self._limit:
            self.close()
            self._path.replace(find_older_file(self._path))
            self._fd = self._open_file()
        return self._fd

    def _open_file(self) -> int:
        fd = regular_file.open_regular(self._path, FLAGS)
        os.fchmod(fd, 0o600)
        self._size = os.fstat(fd).st_size
        return fd
