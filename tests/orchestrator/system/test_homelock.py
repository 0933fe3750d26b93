"""One daemon per home."""

from pathlib import Path

import pytest

from orchestrator.errors import AlreadyRunningError
from orchestrator.settings import Settings
from orchestrator.system.homelock import hold_lock


def test_second_daemon_of_a_home_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    """The message names the home; daemons of other homes may run."""
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    with hold_lock(Settings(home=home)):
        with pytest.raises(AlreadyRunningError, match=str(home)), hold_lock(Settings(home=home)):
            pass
        with hold_lock(Settings(home=other)):
            pass
    with hold_lock(Settings(home=home)):
        pass


def test_lock_file_of_a_dead_daemon_locks_nothing(tmp_path: Path) -> None:
    """Only a running process holds the lock."""
    settings = Settings(home=tmp_path)
    settings.paths.lock.touch()
    with hold_lock(settings):
        pass
