"""Queries of the page."""

import resource
from contextlib import nullcontext
from pathlib import Path

import apsw
import pytest
from fakes.journal import address_of, booted, store_in
from fakes.postgresql import POSTGRESQL, sqlite_only

from orchestrator.errors import JournalError, QueryTimeoutError
from orchestrator.extensions.page.page_reads import SqlitePageReads, open_reads
from orchestrator.journal.db.database import Database

FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


async def test_long_query_is_cut_off_and_the_next_one_works(tmp_path: Path) -> None:
    """By the time of the processor, so that no page holds up the others."""
    ticks = iter(float(n) for n in range(10_000_000))
    with booted(tmp_path):
        reads = (
            open_reads(address_of(tmp_path))
            if POSTGRESQL  # which goes by the clock of its server
            else SqlitePageReads(tmp_path / "journal.db", lambda: next(ticks) / 100, lambda: 0.0)
        )
        with pytest.raises(QueryTimeoutError, match="took too long"):
            await reads(lambda db: db.execute(FOREVER).get)
        assert await reads(lambda db: db.execute("SELECT 7").get) == 7
        reads.close()


@sqlite_only
@pytest.mark.parametrize(("waited", "cut"), [(2.0, False), (4.0, True)])
async def test_query_may_wait_for_a_busy_machine_for_seconds(
    tmp_path: Path, waited: float, *, cut: bool
) -> None:
    """What others do with the processor does not count, up to a limit."""
    clock = [0.0]

    def wait_and_count(db: Database) -> int:
        clock[0] = waited
        return int(db.execute(FOREVER.replace("FROM n)", "FROM n LIMIT 9000)")).get)

    with booted(tmp_path):
        reads = SqlitePageReads(tmp_path / "journal.db", lambda: 0.0, lambda: clock[0])
        with pytest.raises(QueryTimeoutError) if cut else nullcontext():
            assert await reads(wait_and_count) == 9000
        reads.close()


async def test_page_cannot_write(tmp_path: Path) -> None:
    """Its connection is read-only."""
    with booted(tmp_path):
        reads = open_reads(address_of(tmp_path))
        with pytest.raises(JournalError, match="cannot be read"):
            await reads(lambda db: db.execute("DELETE FROM inbox"))
        reads.close()


@sqlite_only
async def test_long_sort_needs_no_file(tmp_path: Path) -> None:
    """The jail lets none be made, nor grow."""
    sorts = """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
        SELECT hex(randomblob(500)) FROM n ORDER BY 1"""
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    with booted(tmp_path):
        reads = SqlitePageReads(tmp_path / "journal.db", lambda: 0.0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, allowed[1]))
        try:
            found = await reads(lambda db: db.execute(sorts).fetchall())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
        reads.close()
    assert len(found) == 5000


async def test_version_changes_with_each_commit_of_others(tmp_path: Path) -> None:
    """And stays the same without one."""

    def write(db: Database) -> None:
        db.execute("INSERT INTO meta VALUES('page', '1')")

    store = store_in(tmp_path)
    reads = open_reads(address_of(tmp_path))
    before = reads.read_version()
    await store.transact(lambda db: db.execute("SELECT 1 FROM meta").get)
    assert reads.read_version() == before
    await store.transact(write)
    assert reads.read_version() != before
    reads.close()
    store.close()


@sqlite_only
def test_missing_journal_is_an_error(tmp_path: Path) -> None:
    """It is not made."""
    with pytest.raises(JournalError):
        open_reads(tmp_path / "journal.db")
    assert not isinstance(apsw.Error, JournalError)
