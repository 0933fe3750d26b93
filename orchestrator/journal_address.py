"""The address of a journal: an SQLite file or a PostgreSQL database."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class DatabaseServer:
    """A database on a server; ``file`` is where an SQLite journal would be.

    ``node`` is where other daemons reach this one, which shares the work with them; without it, one
    daemon works at a time.
    """

    url: str = field(repr=False)  # with the password
    file: Path
    node: str = ""

    def __str__(self) -> str:
        """Return the address without user, password and options."""
        parts = urlsplit(self.url)
        return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


JournalAddress: TypeAlias = Path | DatabaseServer


def find_journal_file(address: JournalAddress) -> Path:
    """Return the journal's file, or the path that represents it among the home's files."""
    return address if isinstance(address, Path) else address.file


@dataclass(frozen=True)
class SharingDaemon:
    """A daemon on a shared journal, with its machine's name and address; one of them ``works``.

    ``since`` is when it connected, in milliseconds since the epoch; ``groups`` are the groups of
    agents that it has, a number.
    """

    name: str
    address: str
    works: bool
    since: int
    groups: int = 0
