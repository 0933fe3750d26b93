"""Where a journal is opened: a file by the core, all else by what an extension brings."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import apsw
import pytest
from fakes.stored_keys import keys, put

from orchestrator import installed
from orchestrator.errors import ConfigError
from orchestrator.extension import Extension
from orchestrator.journal.db import sqlite_storage
from orchestrator.journal.db.sqlite_storage import SqliteStorage
from orchestrator.journal.engine import Engine, PageReads
from orchestrator.journal.opening import (
    find_engine,
    open_for_reading,
    open_for_writing,
    open_journal,
    open_store,
    open_trial_state,
)
from orchestrator.journal_address import DatabaseServer, JournalAddress


class FileEngine:
    """Keeps journals in files, as if these were servers."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def open_storage(self, standing_by: Callable[[], None]) -> SqliteStorage:
        standing_by()
        return SqliteStorage(self._file)

    def open_journal(self) -> apsw.Connection:
        return sqlite_storage.open_database(self._file)

    @contextmanager
    def open_for_writing(self) -> Iterator[apsw.Connection]:
        with closing(self.open_journal()) as db, db:
            yield db

    def open_for_reading(self) -> AbstractContextManager[apsw.Connection]:
        return sqlite_storage.open_for_reading(self._file)

    def open_trial_state(self) -> AbstractContextManager[apsw.Connection]:
        return sqlite_storage.open_memory_copy(self._file)

    def open_page_reads(self, longest: float) -> PageReads:
        raise NotImplementedError(longest)


class OtherExtension(Extension):
    """Keeps no journals."""

    name = "other"


class FileExtension(Extension):
    """Brings it."""

    name = "files"

    def build_engine(self, address: JournalAddress) -> Engine | None:
        return FileEngine(address.file) if isinstance(address, DatabaseServer) else None


@pytest.fixture
def server(tmp_path: Path) -> DatabaseServer:
    """The address of a journal that is not a file."""
    return DatabaseServer("postgresql://ann:4711@db/journal", tmp_path / "kept-by-an-engine")


def install_only(monkeypatch: pytest.MonkeyPatch, *extensions: Extension) -> None:
    """Let these alone be installed."""
    own = {extension.name: extension for extension in extensions}
    found = installed.find_installed()._replace(own=own, foreign={})
    monkeypatch.setattr(installed, "find_installed", lambda: found)


async def test_journal_that_is_not_a_file_is_kept_by_an_extension(
    server: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All ways to open it lead to the extension that knows its address."""
    install_only(monkeypatch, OtherExtension(), FileExtension())
    stood_by: list[bool] = []
    with closing(open_store(server, standing_by=lambda: stood_by.append(True))) as store:
        await store.transact(put, "daemon")
    assert stood_by == [True]
    with closing(open_journal(server)) as db:
        put(db, "alone")
    with open_for_writing(server) as db:
        put(db, "command")
    with open_trial_state(server) as db:
        put(db, "trial")
    with open_for_reading(server) as db:
        assert {"daemon", "alone", "command"} <= {*keys(db)}
        assert "trial" not in keys(db)


@pytest.mark.parametrize("opened", [open_store, open_journal, find_engine])
def test_journal_that_no_extension_keeps_names_what_to_install(
    server: DatabaseServer, monkeypatch: pytest.MonkeyPatch, opened: Callable[[object], object]
) -> None:
    """Without the password."""
    install_only(monkeypatch, OtherExtension())
    with pytest.raises(ConfigError, match=r"pip install 'orchestrator-daemon\[postgresql\]'") as e:
        opened(server)
    assert "4711" not in str(e.value)


def test_journal_in_a_file_needs_no_extension(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The core keeps it."""
    install_only(monkeypatch)
    with open_for_writing(tmp_path / "journal.db") as db:
        put(db, "here")
    with open_for_reading(tmp_path / "journal.db") as db:
        assert keys(db) == ["here"]
