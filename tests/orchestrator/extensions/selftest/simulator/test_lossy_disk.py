"""The lossy disk: what was synced stays, the rest may be lost, and writes may fail."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from orchestrator.extensions.selftest.simulator.history_plan import make_course
from orchestrator.extensions.selftest.simulator.lossy_disk import DiskFile, LossyDisk

FILES = ("db", "db-wal")


@pytest.fixture
def disk() -> Iterator[LossyDisk]:
    """SQLite's file system."""
    found = LossyDisk()
    yield found
    found.unregister()


def opened(path: Path, synchronous: str) -> apsw.Connection:
    """A database with a write-ahead log and one table."""
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(f"PRAGMA synchronous={synchronous}")
    db.execute("CREATE TABLE IF NOT EXISTS t(n)")
    return db


def restarted(disk: LossyDisk, folder: Path, seed: int) -> list[int]:
    """The rows that a start after a power failure finds."""
    after = folder / f"after-{seed}"
    after.mkdir()
    for name in FILES:
        content = disk.get_file(folder / name).lose_power(make_course(seed).make_random("disk"))
        (after / name).write_bytes(content)
    with closing(apsw.Connection(str(after / "db"))) as db:
        return [int(str(n)) for (n,) in db.execute("SELECT n FROM t ORDER BY n")]


def test_commit_survives_a_power_failure(disk: LossyDisk, tmp_path: Path) -> None:
    """With synchronous=FULL each commit is synced."""
    with closing(opened(tmp_path / "db", "FULL")) as db:
        for number in range(5):
            db.execute("INSERT INTO t VALUES(?)", (number,))
        assert restarted(disk, tmp_path, 1) == [0, 1, 2, 3, 4]


def test_commits_that_were_not_synced_are_lost_from_some_on(
    disk: LossyDisk, tmp_path: Path
) -> None:
    """With synchronous=NORMAL a power failure takes the newest; the file stays sound."""
    with closing(opened(tmp_path / "db", "NORMAL")) as db:
        db.execute("INSERT INTO t VALUES(0)")
        db.execute("PRAGMA wal_checkpoint")
        for number in range(1, 20):
            db.execute("INSERT INTO t VALUES(?)", (number,))
        found = restarted(disk, tmp_path, 1)
    assert found == list(range(len(found)))
    assert 0 < len(found) < 20


def test_full_disk_refuses_writes_until_it_has_space(disk: LossyDisk, tmp_path: Path) -> None:
    """As SQLite reports it elsewhere."""
    with closing(opened(tmp_path / "db", "FULL")) as db:
        disk.full = True
        with pytest.raises(apsw.FullError):
            db.execute("INSERT INTO t VALUES(1)")
        disk.full = False
        db.execute("INSERT INTO t VALUES(2)")
        assert db.execute("SELECT n FROM t").get == 2


def test_power_failure_may_tear_a_write() -> None:
    """Some sectors of it arrive, others do not."""
    file = DiskFile(bytearray(b"a" * 4096))
    file.pending.append((0, b"b" * 4096))
    content = file.lose_power(make_course(1).make_random("disk"))
    assert {content[start : start + 512] for start in range(0, 4096, 512)} == {
        b"a" * 512,
        b"b" * 512,
    }
