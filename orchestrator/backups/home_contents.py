"""What of a home belongs in a backup: its state and configuration.

Left out are the journal's own files (a copy that SQLite makes takes their place), what the daemon
makes anew, caches and logs; and keys, unless they are asked for.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import OrchestratorError

JOURNAL = "journal.db"
KEYS = ("keys.env", "http-token", ".env")  # `api-token` is a digest that opens nothing
LEFT_OUT = (
    *(JOURNAL, "journal.db-wal", "journal.db-shm", "journal.db-job", "journal.db-new"),
    *("run", "lock", "agent-prompts", "daemon.log", "daemon.log.1"),
)
CACHES = ("__pycache__", ".cache", ".tmp")  # folders at any depth


@dataclass(frozen=True)
class HomeEntry:
    """A file, folder or symbolic link; ``name`` is its path below the home."""

    name: str
    path: Path
    facts: os.stat_result


def entries(home: Path, *, keys: bool) -> Iterator[HomeEntry]:
    """Yield what belongs in a backup, each folder before what is in it.

    Sockets, named pipes and devices hold nothing, so they are left out.

    Raises:
        OrchestratorError: a folder cannot be read.
    """
    skipped = LEFT_OUT if keys else (*LEFT_OUT, *KEYS)
    for entry in _below(home, ""):
        if entry.name.partition("/")[0] not in skipped:
            yield entry


def _below(folder: Path, prefix: str) -> Iterator[HomeEntry]:
    for found in _listed(folder):
        try:
            facts = found.stat(follow_symlinks=False)
        except FileNotFoundError:  # deleted meanwhile
            continue
        entry = HomeEntry(prefix + found.name, folder / found.name, facts)
        if stat.S_ISDIR(facts.st_mode):
            if found.name not in CACHES:
                yield entry
                yield from _below(entry.path, f"{entry.name}/")
        elif stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode):
            yield entry


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise OrchestratorError(
            f"{folder}: cannot be read ({error.strerror}); use the daemon's user, or correct it"
        ) from error
