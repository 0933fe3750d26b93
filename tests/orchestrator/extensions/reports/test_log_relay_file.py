"""The log that a home keeps."""

import os
from pathlib import Path

import pytest

from orchestrator.extensions.reports.log_relay import LogFile, find_older_file


def untold(problem: str) -> None:
    """Nothing is lost."""
    raise AssertionError(problem)


def test_lines_are_appended_for_the_owner_alone(tmp_path: Path) -> None:
    """Also to the log of an earlier daemon."""
    path = tmp_path / "daemon.log"
    path.write_bytes(b"before\n")
    path.chmod(0o644)
    file = LogFile(path, untold)
    file.write(b"now\n")
    file.close()
    assert path.read_bytes() == b"before\nnow\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_full_log_becomes_the_older_one(tmp_path: Path) -> None:
    """There are never more than two files, each within the limit."""
    path = tmp_path / "daemon.log"
    file = LogFile(path, untold, limit=10)
    for number in range(7):
        file.write(b"line%d\n" % number)
    assert find_older_file(path).read_bytes() == b"line5\n"
    assert path.read_bytes() == b"line6\n"
    assert len(list(tmp_path.iterdir())) == 2


def test_deleted_log_is_made_again(tmp_path: Path) -> None:
    """A person may delete it at any time."""
    path = tmp_path / "daemon.log"
    file = LogFile(path, untold)
    file.write(b"one\n")
    path.unlink()
    file.write(b"two\n")
    assert path.read_bytes() == b"two\n"


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_is_no_log_is_told_once_and_left_alone(tmp_path: Path, kind: str) -> None:
    """Lines are lost, and kept again when there is a place for them."""
    path, told = tmp_path / "daemon.log", list[str]()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        (tmp_path / "other").write_text("precious")
        path.symlink_to("other")
    file = LogFile(path, told.append)
    file.write(b"one\n")
    file.write(b"two\n")
    assert len(told) == 1
    assert str(path) in told[0]
    path.rename(tmp_path / "away")
    file.write(b"three\n")
    assert path.read_bytes() == b"three\n"
    assert len(told) == 1
