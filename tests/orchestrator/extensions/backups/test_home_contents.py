"""What of a home belongs in a backup."""

import os
import socket
from pathlib import Path

import pytest

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.backups.home_contents import list_home_entries
from orchestrator.home_paths import find_bundled_path

STATE = [
    "agents",
    "agents.json",
    "agents/a",
    "agents/a/instructions.md",
    "notes",
    "skills",
    "skills/link",
]
MADE_ANEW = ["run/x", "lock", "daemon.log", "daemon.log.1", "agent-prompts/a.txt"]
JOURNAL = ["journal.db", "journal.db-wal", "journal.db-shm", "journal.db-job"]
CACHES = ["skills/__pycache__/x.pyc", "notes.d/.cache/x", "notes.d/.tmp/x"]
SECRETS = ["keys.env", "http-token"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with everything that there may be."""
    for name in (*MADE_ANEW, *JOURNAL, *CACHES, *SECRETS, *STATE[1:2], STATE[3], STATE[4]):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "skills/link").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def names(home: Path, *, keys: bool) -> list[str]:
    """What would be in a backup."""
    return [entry.name for entry in list_home_entries(home, keys=keys)]


def test_state_and_configuration_belong_in_a_backup(home: Path) -> None:
    """Folders first; no key, lock, cache or log, and nothing that holds no bytes."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home / "socket"))
        found = names(home, keys=False)
        assert sorted(found) == sorted([*STATE, "notes.d"])
        assert found.index("agents") < found.index("agents/a")


def test_keys_belong_in_it_when_they_are_asked_for(home: Path) -> None:
    """And nothing else is added."""
    assert set(names(home, keys=True)) - set(names(home, keys=False)) == set(SECRETS)


def test_links_to_bundled_skills_are_left_out(tmp_path: Path) -> None:
    """The daemon makes them anew; other links stay, also to a skill of the home."""
    bundled = find_bundled_path("skills") / "orchestrator-guide"
    folders = ("workspaces/a/.claude/skills", "workspaces/a@chats/telegram-7/.claude/skills")
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "guide").symlink_to(bundled)
        (tmp_path / folder / "mine").symlink_to(tmp_path / "skills" / "mine")
        (tmp_path / folder / "theirs").symlink_to("/nowhere")
    (tmp_path / "workspaces/a/guide").symlink_to(bundled)
    links = {name for name in names(tmp_path, keys=False) if (tmp_path / name).is_symlink()}
    kept = {f"{folder}/{name}" for folder in folders for name in ("mine", "theirs")}
    assert links == {*kept, "workspaces/a/guide"}


def test_unreadable_folder_is_told(tmp_path: Path) -> None:
    """A backup that lacks it would be none. A file in its place is as unreadable, also for root."""
    (tmp_path / "home").touch()
    with pytest.raises(OrchestratorError, match="cannot be read"):
        names(tmp_path / "home", keys=False)
