"""Looking at the journal beside its writer."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from orchestrator.errors import JournalError
from orchestrator.journal.db.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An open journal."""
    opened = Store(tmp_path / "journal.db")
    yield opened
    opened.close()


def put(db: apsw.Connection, value: str) -> None:
    """A change."""
    db.execute("INSERT OR REPLACE INTO meta VALUES('k', ?)", (value,))


def get(db: apsw.Connection) -> object:
    """What `put` has stored."""
    return db.execute("SELECT v FROM meta WHERE k = 'k'").get


async def test_reader_sees_what_was_committed_and_nothing_else(store: Store) -> None:
    """Also while the writer is in the middle of something."""
    await store.transact(put, "one")

    read = store.read

    def half(db: apsw.Connection) -> object:
        put(db, "two")
        return read(get)

    assert store.read(get) == "one"
    assert await store.transact(half) == "one"
    assert store.read(get) == "two"


async def test_look_that_fails_leaves_nothing_open(store: Store) -> None:
    """The next one sees what was written since."""

    def look(db: apsw.Connection) -> None:
        get(db)
        raise LookupError

    with pytest.raises(LookupError):
        store.read(look)
    await store.transact(put, "new")
    assert store.read(get) == "new"


def test_reader_cannot_write(store: Store) -> None:
    """There is one writer."""
    with pytest.raises(JournalError, match="cannot be read"):
        store.read(put, "one")


def test_closed_journal_is_not_read_and_leaves_no_wal(tmp_path: Path) -> None:
    """The mark of a clean end."""
    store = Store(tmp_path / "journal.db")
    store.read(get)
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["journal.db"]
    with pytest.raises(JournalError, match="cannot be read"):
        store.read(get)
