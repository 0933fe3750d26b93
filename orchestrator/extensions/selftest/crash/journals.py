"""The journals of histories: in files, or in databases of a server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from orchestrator.journal.opening import find_engine
from orchestrator.journal_address import DatabaseServer, JournalAddress


class Journals(Protocol):
    """Journals, one for each home."""

    def make_journal(self, home: Path) -> JournalAddress: ...

    def remove_journal(self, home: Path) -> None: ...

    def list_sessions(self, home: Path) -> list[int]:
        """Return the ids of the server's sessions for a home's journal."""

    def end_sessions(self, home: Path) -> int:
        """End those sessions; return their number."""


class FileJournals:
    """A file in each home, deleted with the home."""

    def make_journal(self, home: Path) -> JournalAddress:
        return home / "journal.db"

    def remove_journal(self, home: Path) -> None:
        pass

    def list_sessions(self, home: Path) -> list[int]:
        del home
        return []

    def end_sessions(self, home: Path) -> int:
        del home
        return 0


@contextmanager
def open_journals(server: str | None) -> Iterator[Journals]:
    """Keep journals on a server for the block, or in files without an address.

    Raises:
        ConfigError: the server cannot be used.
    """
    if server is None:
        yield FileJournals()
        return
    find_engine(DatabaseServer(server, Path()))  # raises if there is none
    from orchestrator.extensions.postgresql.pg_scratch import ScratchDatabases  # noqa: PLC0415 - optional

    with ScratchDatabases(server) as databases:
        yield databases
