"""The record of the job in which a process died."""

import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.journal.db.sqlite_storage import SqliteStorage
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import MAX_DEATHS, CrashRecord

CHAT = "telegram/1/7/"
LIFE = """\
import os, signal, sys
from pathlib import Path
import anyio
from orchestrator.journal.db.sqlite_storage import SqliteStorage
from orchestrator.journal.db.store import Store
from thinker.protocol.logs import bound
def poisoned(db):
    os.kill(os.getpid(), signal.SIGKILL)
async def life():
    store = Store(SqliteStorage(Path(sys.argv[1])))
    with bound(chat_id=sys.argv[2]):
        await store.transact(poisoned)
anyio.run(life)
"""


def died(path: Path, job: str, chat: str) -> None:
    """Begin a job, and leave it as a process does that dies in it."""
    end_in(CrashRecord(path), job, chat)


def end_in(record: CrashRecord, job: str, chat: str) -> None:
    """Begin a job that the process does not outlive."""
    record.begin_job(job, chat)
    record.close()


def reborn(path: Path) -> CrashRecord:
    """Return the record as the next process finds it."""
    record = CrashRecord(path)
    record.close()
    return record


@pytest.mark.process
def test_third_death_in_a_row_in_the_same_job_of_a_chat_convicts_it(tmp_path: Path) -> None:
    """However the process ended: nothing can be written at a SIGKILL."""
    path = tmp_path / "journal.db"
    for deaths in range(1, MAX_DEATHS + 1):
        done = subprocess.run((sys.executable, "-P", "-c", LIFE, path, CHAT), check=False)
        assert done.returncode < 0
        found = reborn(tmp_path / "journal.db-job")
        assert (found.deaths, found.died_in, found.chat) == (deaths, "poisoned", CHAT)
        assert found.guilty_chat == (CHAT if deaths == MAX_DEATHS else None)


def test_job_that_was_completed_once_is_acquitted(tmp_path: Path) -> None:
    """The message did no harm; the daemon was killed for another reason."""
    path = tmp_path / "job"
    for _ in range(2):
        died(path, "gather", CHAT)
    with closing(CrashRecord(path)) as record:
        record.begin_job("gather", CHAT)
        record.end_job()
        end_in(record, "gather", CHAT)
    assert reborn(path).deaths == 1


def test_chat_that_is_open_while_the_daemon_is_killed_50_times_is_not_convicted(
    tmp_path: Path,
) -> None:
    """Each life works on many chats, and may be killed in any job of them, this one's too."""
    path, chance = tmp_path / "job", random.Random(14)  # noqa: S311 - a history that repeats
    for _ in range(50):
        with closing(CrashRecord(path)) as record:
            assert record.guilty_chat is None
            jobs = [(job, f"chat{chat}") for job in ("gather", "plan") for chat in range(20)]
            for job, chat in jobs[: chance.randrange(len(jobs))]:
                record.begin_job(job, chat)
                record.end_job()
            end_in(record, *chance.choice(jobs))


def test_death_in_a_job_of_no_chat_convicts_no_chat(tmp_path: Path) -> None:
    """Messages of several chats are stored together."""
    path = tmp_path / "job"
    for _ in range(5):
        died(path, "_ingest", "")
    assert (reborn(path).deaths, reborn(path).guilty_chat) == (5, None)


@pytest.mark.parametrize("content", [b"", b"\xff" * 512, b"many things", b"7"])
def test_record_that_cannot_be_read_accuses_no_chat(tmp_path: Path, content: bytes) -> None:
    """It may be half written, or of another program."""
    path = tmp_path / "job"
    path.write_bytes(content)
    assert reborn(path).guilty_chat is None


def test_file_that_cannot_be_used_is_done_without(tmp_path: Path) -> None:
    """The journal is worth more than the record."""
    (tmp_path / "journal.db-job").symlink_to(tmp_path / "elsewhere")
    with closing(Store(SqliteStorage(tmp_path / "journal.db"))) as store:
        assert store.crashes.guilty_chat is None
    assert not (tmp_path / "elsewhere").exists()
