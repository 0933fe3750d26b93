"""The journal's file after power cuts, torn tails, deaths and neighbours (F4, F23 to F28)."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from subprocess import PIPE

import apsw
import pytest
from fakes.daemon import run_to_its_end, write_config
from fakes.golden import restore
from fakes.journal import receive, update
from fakes.postgresql import sqlite_only

from orchestrator.errors import ExitCode
from orchestrator.journal.db.sqlite_storage import PAGE, SqliteStorage, open_database
from orchestrator.journal.db.store import Store
from orchestrator.journal.migrations import load_schema
from orchestrator.journal.turns import inbox

FRAME = PAGE + 24  # bytes of a page and its header in the WAL
MESSAGES = 30


def stored(path: Path) -> list[str]:
    """The texts of a journal, oldest first."""
    with closing(open_database(path)) as db:
        assert db.execute("PRAGMA integrity_check").get == "ok"
        return [str(text) for (text,) in db.execute("SELECT text FROM inbox ORDER BY id")]


@pytest.mark.parametrize("harm", ["truncated", "torn", "garbage", "garbage behind"])
def test_torn_tail_of_the_wal_loses_only_what_was_not_committed(tmp_path: Path, harm: str) -> None:
    """Every commit before the harmed frame is there, whatever the last one looks like (F23)."""
    whole, copy = tmp_path / "whole", tmp_path / "copy"
    whole.mkdir()
    with closing(open_database(whole / "journal.db")) as db:
        ends = []
        for number in range(MESSAGES):
            receive(db, update(number, f"text {number}"))
            ends.append((whole / "journal.db-wal").stat().st_size)
        shutil.copytree(whole, copy)  # the state that a power cut leaves behind
    wal = copy / "journal.db-wal"
    content = bytearray(wal.read_bytes())
    if harm == "truncated":
        del content[ends[-2] :]
    elif harm == "torn":
        del content[-FRAME // 2 :]
    elif harm == "garbage":
        content[-FRAME + 24 :] = os.urandom(FRAME - 24)
    else:
        content += os.urandom(FRAME * 3 + 7)
    wal.write_bytes(content)
    kept = MESSAGES if harm == "garbage behind" else MESSAGES - 1
    assert stored(copy / "journal.db") == [f"text {number}" for number in range(kept)]


class Disk(apsw.VFS):
    """A disk whose power may fail: only what was synced is on the platter."""

    def __init__(self, platter: Path) -> None:
        self._platter = platter
        super().__init__("power", "unix", makedefault=True)

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        """Open a file that is copied to the platter whenever it is synced."""
        return Synced(name, flags, self._platter)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802, FBT001 - SQLite's
        """A file that is deleted is deleted at once."""
        super().xDelete(name, syncdir)
        (self._platter / Path(name).name).unlink(missing_ok=True)


class Synced(apsw.VFSFile):
    """A file; the platter has it as it was when it was synced last."""

    def __init__(
        self, name: str | apsw.URIFilename | None, flags: list[int], platter: Path
    ) -> None:
        super().__init__("unix", name, flags)
        self._path = Path(name.filename() if isinstance(name, apsw.URIFilename) else str(name))
        self._platter = platter

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        """The file is on the platter now."""
        super().xSync(flags)
        shutil.copyfile(self._path, self._platter / self._path.name)


@pytest.fixture
def platter(tmp_path: Path) -> Iterator[Path]:
    """What a power cut leaves of every database opened meanwhile."""
    folder = tmp_path / "platter"
    folder.mkdir()
    disk = Disk(folder)
    yield folder
    disk.unregister()
    apsw.set_default_vfs("unix")


def after_power_cut(platter: Path, number: int) -> list[str]:
    """The messages that are there when the machine has power again."""
    home = platter.parent / f"after {number}"
    shutil.copytree(platter, home)
    return stored(home / "journal.db")


def test_power_cut_loses_no_commit(tmp_path: Path, platter: Path) -> None:
    """Whatever was acknowledged had been synced, also around checkpoints (F27)."""
    with closing(open_database(tmp_path / "journal.db")) as db:
        db.execute("PRAGMA wal_autocheckpoint=25")
        for number in range(MESSAGES):
            receive(db, update(number, f"text {number}"))
            kept = after_power_cut(platter, number)
            assert kept == [f"text {earlier}" for earlier in range(number + 1)]


CHANGE = """
CREATE TABLE kept(id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
INSERT INTO kept SELECT id, text FROM inbox;
ALTER TABLE turn ADD COLUMN later INTEGER;
UPDATE turn SET later = 1;
DROP TABLE pause_told;
DROP TABLE pause;
"""
DYING = """
import os, signal, sys
import apsw
from orchestrator.journal.migrations import Schema, load_schema, migrate

class Dying(apsw.Connection):
    def __init__(self, path, last):
        super().__init__(path)
        self.left = last
        self.exec_trace = self.trace

    def trace(self, cursor, sql, bindings):
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1
        return True

known, change = load_schema(), sys.argv[2]
later = Schema(known.whole + change, {**known.changes, known.number + 1: change})
for last in sys.stdin:
    pid = os.fork()
    if pid == 0:
        migrate(Dying(sys.argv[1], int(last)), later)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@contextmanager
def dying_processes(path: Path) -> Iterator[Callable[[int], int]]:
    """A function that migrates in a process which dies after so many statements.

    It returns the exit code. One process forks them all.
    """
    command = [sys.executable, "-c", DYING, str(path), CHANGE]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as server:
        assert server.stdin
        assert server.stdout
        asked, answers = server.stdin, server.stdout

        def migrated(statements: int) -> int:
            print(statements, file=asked, flush=True)
            return int(answers.readline())

        yield migrated


@pytest.mark.process
def test_death_within_a_migration_leaves_the_old_journal_or_the_new_one(tmp_path: Path) -> None:
    """Killed after each statement of a migration, a golden journal has none or all of it (F4)."""
    path = tmp_path / "journal.db"
    restore(path)
    with closing(apsw.Connection(str(path))) as db:
        before = db.execute("SELECT id, text FROM inbox").fetchall()
    deaths, died = 0, True
    with dying_processes(path) as migrated:
        while died:
            died = migrated(deaths) == -signal.SIGKILL
            deaths += died
            with closing(apsw.Connection(str(path))) as db:
                assert db.execute("PRAGMA integrity_check").get == "ok"
                assert db.execute("SELECT id, text FROM inbox").fetchall() == before
                tables = {str(name) for (name,) in db.execute("SELECT name FROM sqlite_schema")}
                assert (db.execute("PRAGMA user_version").get > load_schema().number) != died
            assert ("kept" in tables) != died
            assert ("pause" in tables) == died
    assert deaths > len(CHANGE.strip().splitlines())


@sqlite_only
@pytest.mark.process
async def test_damaged_journal_is_refused_with_the_mend_and_kept(tmp_path: Path) -> None:
    """The daemon ends with 74 before it touches anything (F24)."""
    path = tmp_path / "journal.db"
    with closing(open_database(path)) as db:
        for number in range(500):
            receive(db, update(number, "x" * 500))
    path.with_name("journal.db-wal").touch()
    content = bytearray(path.read_bytes())
    content[20 * 4096 : 60 * 4096] = b"\xff" * (40 * 4096)
    path.write_bytes(content)
    write_config(tmp_path, {"agents": [{"agentId": "work", "llmProvider": "demo"}]})
    code, said = await run_to_its_end(tmp_path)
    assert code == ExitCode.IO
    assert "restore a backup or move the file away" in said
    assert "Traceback" not in said
    assert path.read_bytes() == content


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A home on a file system that takes no writes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("there is no mount command")
    made = subprocess.run([mount, "-t", "tmpfs", "tmpfs", disk], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("only root can mount a file system")
    write_config(disk, {"agents": [{"agentId": "work", "llmProvider": "demo"}]})
    Store(SqliteStorage(disk / "journal.db")).close()
    subprocess.run([mount, "-o", "remount,ro", disk], check=True)
    yield disk
    subprocess.run([umount, "--lazy", disk], check=True)


@pytest.mark.process
async def test_read_only_file_system_is_refused_in_plain_words(read_only: Path) -> None:
    """No traceback, and nothing is acknowledged (F25)."""
    code, said = await run_to_its_end(read_only)
    assert code in {ExitCode.IO, ExitCode.CONFIG}
    assert "ead-only file system" in said
    assert "Traceback" not in said


def test_reader_holds_up_no_writer_and_the_wal_shrinks_after_it(tmp_path: Path) -> None:
    """While a backup reads, messages are stored; then the WAL is bounded again (F28)."""
    path, wal = tmp_path / "journal.db", tmp_path / "journal.db-wal"
    with closing(open_database(path)) as db, closing(apsw.Connection(str(path))) as reader:
        assert reader.execute("BEGIN; SELECT count(*) FROM inbox").get == 0
        text = "x" * 20_000
        for number in range(300):
            receive(db, update(number, text))
        grown = wal.stat().st_size
        assert grown > 300 * len(text)
        reader.execute("COMMIT")
        for number in range(300, 310):
            receive(db, update(number, text))
        db.execute("PRAGMA journal_size_limit=1000000")  # ours is 64 MiB; the same for less
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        receive(db, update(310, text))
        assert wal.stat().st_size <= 1_000_000
        assert len(inbox.list_chats_with_work(db)) == 1
