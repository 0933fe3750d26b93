"""The end of a daemon's log."""

from pathlib import Path

from orchestrator.extensions.page.daemon_side import log_tail


def test_newest_lines_are_read_whole(tmp_path: Path) -> None:
    """The first that is cut is left out; without a log there are none."""
    path = tmp_path / "daemon.log"
    assert log_tail.read_tail(path) == ()
    path.write_text("one\ntwo\n")
    assert log_tail.read_tail(path) == ("one", "two")
    path.write_bytes(b"x" * log_tail.MAX_BYTES + b"\nlast\n")
    assert log_tail.read_tail(path) == ("last",)
