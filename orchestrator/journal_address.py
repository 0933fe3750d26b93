"""Where a journal is: in a file of SQLite, or in a database of PostgreSQL."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class DatabaseServer:
    """A database of a server; ``file`` is where the journal would be, were it a file."""

    url: str = field(repr=False)  # with the password
    file: Path

    def __str__(self) -> str:
        """Return the address without user, password and options."""
        parts = urlsplit(self.url)
        return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


JournalAddress: TypeAlias = Path | DatabaseServer


def file_of(address: JournalAddress) -> Path:
    """Return the journal's file, or what stands for it beside other files of the home."""
    return address if isinstance(address, Path) else address.file
