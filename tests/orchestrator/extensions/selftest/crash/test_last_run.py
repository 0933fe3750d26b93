"""The result of a self-test that is kept."""

from pathlib import Path

import pytest

from orchestrator.extensions.selftest.crash import last_run
from orchestrator.extensions.selftest.crash.last_run import LastRun
from thinker.formats.regular_file import FileError


def test_result_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    """The newest replaces the one before."""
    path = tmp_path / "selftest.json"
    assert last_run.load_last_run(path) is None
    for violations in (2, 0):
        run = LastRun(at=1.0, version="1", histories=41, violations=violations)
        last_run.save_last_run(path, run)
        assert last_run.load_last_run(path) == run
    assert path.stat().st_mode & 0o777 == 0o600


def test_other_content_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    """It is no result."""
    path = tmp_path / "selftest.json"
    path.write_text("{}", "utf-8")
    with pytest.raises(FileError, match="remove it"):
        last_run.load_last_run(path)
