"""A backup that a person asks the daemon for: one at a time, in the home, the newest ten."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from anyio import to_thread
from fakes.golden import restore as golden_journal

from orchestrator.extensions.backups.archive import unpack_backup
from orchestrator.extensions.backups.backups_part import (
    BACKUP_MAKE,
    KEPT,
    BackupsPart,
    MadeBackup,
    name_backup,
    remove_old,
)
from orchestrator.extensions.backups.home_contents import SCRATCH
from orchestrator.settings import Settings
from thinker.protocol.peer import RpcError

DAY = 86_400_000


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a journal, a configuration, a key, and the rest of a backup."""
    golden_journal(tmp_path / "journal.db")
    (tmp_path / "agents.json").write_text("{}", "utf-8")
    (tmp_path / "keys.env").write_text("KEY=secret", "utf-8")
    (tmp_path / f"backups/{SCRATCH}rest").mkdir(parents=True)
    return tmp_path


async def test_backup_is_whole_without_keys_and_without_other_backups(home: Path) -> None:
    """Its path and size are told; what an ended daemon left is gone."""
    async with anyio.create_task_group() as tasks:
        machine = SimpleNamespace(clock=lambda: DAY, in_thread=to_thread.run_sync)
        daemon: Any = SimpleNamespace(settings=Settings(home=home), machine=machine, tasks=tasks)
        part = BackupsPart(daemon)
        make = part.list_control_methods(None)[BACKUP_MAKE]
        found: list[MadeBackup | RpcError] = []

        async def ask() -> None:
            try:
                found.append(cast("MadeBackup", await make(None)))
            except RpcError as error:
                found.append(error)

        async with anyio.create_task_group() as asking:
            asking.start_soon(ask)
            asking.start_soon(ask)
        refused, done = found
        assert "is being written" in str(refused)
        assert isinstance(done, MadeBackup)
        path = Path(done.path)
        assert path == home / "backups/backup-1970-01-02T00-00-00Z.tar.gz"
        assert done.bytes == path.stat().st_size  # noqa: ASYNC240 - a file of the test
        assert set(unpack_backup(path, None).files) == {"agents.json", "journal.db"}
        assert [one.name for one in (home / "backups").iterdir()] == [path.name]
        with pytest.raises(RpcError, match=r"no backup was made: .* exists"):
            await make(None)


def test_old_backups_make_room_for_new_ones(home: Path) -> None:
    """Only those that the daemon wrote."""
    folder = home / "backups"
    names = [name_backup(number * DAY) for number in range(KEPT + 2)]
    for name in (*names, "mine.tar.gz"):
        (folder / name).write_text("x", "utf-8")
    remove_old(folder)
    kept = {path.name for path in folder.glob("backup-*")}
    assert kept == {*names[2:]}
    assert (folder / "mine.tar.gz").exists()
