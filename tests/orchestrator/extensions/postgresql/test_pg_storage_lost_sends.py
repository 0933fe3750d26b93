"""What a daemon sends to PostgreSQL, or its answer, is lost: each of them in turn."""

from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from fakes.cutting_relay import cutting_relay
from fakes.postgresql import database_of, needs_server
from psycopg.conninfo import conninfo_to_dict

from orchestrator.extensions.postgresql import pg_storage
from orchestrator.extensions.postgresql.pg_storage import PostgresStorage
from orchestrator.journal.db.database import Database, ask_ahead, roll_back_on_failure
from orchestrator.journal.db.store import Store
from orchestrator.journal_address import DatabaseServer

pytestmark = needs_server
COUNT = "SELECT v FROM meta WHERE k = ?"
ADD = "UPDATE meta SET v = CAST(CAST(v AS INTEGER) + 1 AS TEXT) WHERE k = ?"
JOBS = ("a", "b", "c")


def begin(db: Database) -> None:
    """Count from nothing."""
    db.executemany("INSERT INTO meta VALUES(?, '0')", [(job,) for job in JOBS])


def add(db: Database, job: str) -> int:
    """Count once more, with a part that fails and with answers between."""
    ask_ahead(db, (COUNT, (job,)))
    before = int(db.execute(COUNT, (job,)).get)
    db.execute(ADD, (job,))
    with roll_back_on_failure(db):
        db.execute(ADD, (job,))
        db.execute("INSERT INTO meta VALUES(?, '0')", (job,))  # it is there already
    db.execute("UPDATE meta SET v = v WHERE k = ?", (job,))
    return before


def fail(db: Database) -> None:
    """Count, and fail."""
    db.execute(ADD, (JOBS[0],))
    raise ValueError


def counts(db: Database) -> list[int]:
    """How often each job was done."""
    return [int(db.execute(COUNT, (job,)).get) for job in JOBS]


@pytest.mark.parametrize("answered", [False, True])
async def test_no_send_that_is_lost_loses_or_repeats_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, answered: bool
) -> None:
    """Jobs of several transactions, alone and together; a cut of each thing that is sent."""
    monkeypatch.setattr(pg_storage, "HEARTBEAT_SECONDS", 3600)
    address = database_of(tmp_path)
    with cutting_relay(f"{conninfo_to_dict(address)['host']}/.s.PGSQL.5432") as relay:
        url = f"postgresql://postgres@127.0.0.1:{relay.port}{urlsplit(address).path}"
        server = DatabaseServer(url, tmp_path / "journal.db")
        with closing(Store(PostgresStorage(server), retry=0.01)) as store:
            await store.transact(begin)
            cuts, is_left = 0, False
            while not is_left:  # the number is higher than that of what is sent
                relay.cut_at(cuts + 1, answered=answered)
                async with anyio.create_task_group() as tasks:
                    for job in JOBS:
                        tasks.start_soon(store.transact, add, job)
                    with pytest.raises(ValueError, match=r"^$"):
                        await store.transact(fail)
                cuts, is_left = cuts + 1, relay.is_armed
                relay.cut_at(0, answered=False)
                assert await store.read(counts) == [cuts] * len(JOBS)
            assert cuts > 10
