"""Reading a daemon's log."""

import os
from itertools import islice
from pathlib import Path

import pytest

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.reports import log_reader
from orchestrator.extensions.reports.log_reader import FileLog, find_log
from orchestrator.extensions.reports.log_relay import LogFile, find_older_file
from orchestrator.settings import Settings
from orchestrator.system.home_daemon import Unit


def test_older_file_is_read_first(tmp_path: Path) -> None:
    """The log may just have begun a new file; a line that is being written is not read."""
    settings = Settings(home=tmp_path)
    find_older_file(settings.paths.log).write_bytes(b"1\n2\n")
    settings.paths.log.write_bytes(b"3\n4")
    assert list(find_log(settings).iter_kept_lines()) == [b"1\n", b"2\n", b"3\n"]


def test_lines_are_followed_across_files(tmp_path: Path) -> None:
    """None is missing and none comes twice."""
    path = tmp_path / "daemon.log"
    file = LogFile(path, lambda _: None, limit=6)
    file.write(b"1\n2\n")
    waiting = [b"3\n", b"4\n", b"5\n", b"6\n", b"7\n"]
    log = FileLog(path, pause=lambda: file.write(waiting.pop(0)))
    assert list(log.iter_kept_lines()) == [b"1\n", b"2\n"]
    assert list(islice(log.follow_lines(), 5)) == [b"3\n", b"4\n", b"5\n", b"6\n", b"7\n"]


def test_home_without_a_log_is_told(tmp_path: Path) -> None:
    """With what to do."""
    with pytest.raises(OrchestratorError, match="orchestrator run"):
        find_log(Settings(home=tmp_path))


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    """A named pipe would hold the command for ever."""
    settings = Settings(home=tmp_path)
    os.mkfifo(settings.paths.log)
    with pytest.raises(OrchestratorError, match="a named pipe"):
        list(find_log(settings).iter_kept_lines())


def journalctl(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A journalctl that runs this script."""
    program = folder / "journalctl"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_service_of_the_home_logs_to_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it does not run; the journal's program is asked for the unit."""
    units = tmp_path / ".config/systemd/user"
    units.mkdir(parents=True)
    (units / "orchestrator.service").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    journalctl(tmp_path, monkeypatch, 'echo "$@"')
    source = find_log(Settings(home=tmp_path / ".orchestrator"))
    (asked,) = source.iter_kept_lines()
    assert asked.startswith(b"--user -u orchestrator.service -o cat")
    (followed,) = source.follow_lines()
    assert followed.endswith(b"-f\n")


def test_machine_without_the_journals_program_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container may have the unit and no systemd."""
    monkeypatch.setenv("PATH", str(tmp_path))
    source = log_reader._JournalLog(Unit("x.service", "system", restarts=True))
    with pytest.raises(OrchestratorError, match="journalctl cannot be run"):
        list(source.iter_kept_lines())
