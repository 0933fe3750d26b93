"""What becomes of the lines on the standard error of the daemon's processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from orchestrator.errors import ConfigError
from orchestrator.extensions.reports import log_relay
from orchestrator.extensions.reports.log_relay import STDERR, relay_log

EVENT = (
    b'{"event":"tool_call","tool":"get_time","level":"info","timestamp":"2026-11-23T20:47:48Z"}\n'
)
ENOUGH = 1 << 26  # bytes, far more than pipes hold
CHILD = "import sys; sys.stderr.write('from a child\\n')"


@contextmanager
def stderr_is(fd: int) -> Iterator[None]:
    """The process's standard error is this descriptor for a while."""
    kept = os.dup(STDERR)
    os.dup2(fd, STDERR)
    try:
        yield
    finally:
        os.dup2(kept, STDERR)
        os.close(kept)


def test_lines_of_all_processes_are_kept_and_passed_on(tmp_path: Path) -> None:
    """As they are, where no terminal shows them; in the order in which they were written."""
    log, target = tmp_path / "daemon.log", tmp_path / "stderr"
    with target.open("wb") as file, stderr_is(file.fileno()):
        with relay_log(log, {}):
            os.write(STDERR, EVENT)
            subprocess.run((sys.executable, "-c", CHILD), check=True)
            os.write(STDERR, b"no end of line")
        os.write(STDERR, b"; after it\n")
    expected = EVENT + b"from a child\nno end of line"
    assert log.read_bytes() == expected
    assert target.read_bytes() == expected + b"; after it\n"


def test_terminal_shows_sentences_and_the_file_keeps_the_facts(tmp_path: Path) -> None:
    """What is no event is shown as it is."""
    log = tmp_path / "daemon.log"
    controller, terminal = os.openpty()
    with stderr_is(terminal), relay_log(log, {}):
        os.write(STDERR, EVENT + b"Traceback\n")
    shown = os.read(controller, 1000)
    assert b"runs get_time" in shown
    assert b"Traceback" in shown
    assert b"{" not in shown
    assert log.read_bytes() == EVENT + b"Traceback\n"
    for fd in (controller, terminal):
        os.close(fd)


def test_nobody_waits_for_a_reader_that_has_stopped(tmp_path: Path) -> None:
    """A terminal may be stopped; lines are lost then."""
    reader, writer = os.pipe()
    with stderr_is(writer), relay_log(tmp_path / "daemon.log", {}):
        written = 0
        with suppress(BlockingIOError):
            while written < ENOUGH:
                written += os.write(STDERR, EVENT * 100)
        assert written < ENOUGH
        os.close(reader)  # which ends the relay's own wait
    os.close(writer)


@pytest.mark.parametrize(
    ("error", "problem", "traced"),
    [
        (ConfigError("agents.json: no"), "agents.json: no", False),
        (ExceptionGroup("tasks", [ValueError("odd")]), "ValueError: odd", True),
    ],
)
def test_error_that_ends_the_daemon_is_kept(
    tmp_path: Path, error: Exception, problem: str, *, traced: bool
) -> None:
    """In the file alone: the command line shows it."""
    log, target = tmp_path / "daemon.log", tmp_path / "stderr"
    with (
        target.open("wb") as file,
        stderr_is(file.fileno()),
        pytest.raises(type(error)),
        relay_log(log, {}),
    ):
        raise error
    event = log_relay.parse_event(log.read_bytes())
    assert event is not None
    assert (event["event"], event["problem"]) == ("daemon_failed", problem)
    assert ("exception" in event) == traced
    assert target.read_bytes() == b""


def test_log_that_systemd_keeps_is_left_to_it(tmp_path: Path) -> None:
    """No file is written, and standard error stays what it is."""
    log, target = tmp_path / "daemon.log", tmp_path / "stderr"
    with target.open("wb") as file, stderr_is(file.fileno()):
        found = os.fstat(file.fileno())
        with relay_log(log, {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"}):
            os.write(STDERR, EVENT)
    assert target.read_bytes() == EVENT
    assert not log.exists()


@pytest.mark.parametrize("line", [b"x", b"[1]", b'{"a":1}', b'{"event":', b"\xff", b""])
def test_line_that_is_no_event_is_recognized(line: bytes) -> None:
    """Whatever it is."""
    assert log_relay.parse_event(line) is None
