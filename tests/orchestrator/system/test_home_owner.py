"""Whose a home is, and what keeps this user out of it."""

import os
import pwd
from pathlib import Path

import pytest
from fakes.acting_user import acting_as

from orchestrator.system import home_owner

ROOT = os.geteuid() == 0
SOMEBODY = "nobody" if ROOT else pwd.getpwuid(os.geteuid()).pw_name


def test_home_that_is_open_or_missing_has_no_barrier(tmp_path: Path) -> None:
    """A missing one can still be made."""
    assert home_owner.find_barrier(tmp_path) is None
    assert home_owner.find_barrier(tmp_path / "missing" / "home") is None


def test_closed_folder_on_the_way_is_the_barrier(tmp_path: Path) -> None:
    """Of another user, or without the right to read it."""
    home = tmp_path / "home"
    home.mkdir(mode=0)
    with acting_as(SOMEBODY):
        found = home_owner.find_barrier(home / "inner")
    assert found is not None
    assert found == home or ROOT
    assert home.is_relative_to(found)
    home.chmod(0o700)


def test_own_home_has_nothing_foreign(tmp_path: Path) -> None:
    """As far as the daemon writes there; what people put there may be anyone's."""
    (tmp_path / "run").mkdir()
    (tmp_path / "journal.db").touch()
    assert home_owner.list_foreign_files(tmp_path) == []
    assert home_owner.list_foreign_files(tmp_path / "missing") == []


def test_foreign_home_and_foreign_files_in_an_own_one_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is what `sudo orchestrator init` once left behind."""
    (tmp_path / "run").mkdir()
    (tmp_path / "agents.json").touch()
    if ROOT:
        os.chown(tmp_path / "run", 12345, 12345)
        os.chown(tmp_path / "agents.json", 12345, 12345)
        assert home_owner.list_foreign_files(tmp_path) == [tmp_path / "run"]
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert home_owner.list_foreign_files(tmp_path) == [tmp_path]


def test_user_without_a_name_is_written_as_sudo_takes_it() -> None:
    """A container may have none."""
    assert home_owner.find_user_name(0) == "root"
    assert home_owner.find_user_name(4_000_000) == "#4000000"
