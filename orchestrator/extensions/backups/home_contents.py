"""List what belongs in a backup of a home: its state and configuration.

The journal's own files are left out (SQLite's copy takes their place), as are regenerated files,
caches and logs; keys are included only on request.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import OrchestratorError
from orchestrator.home_paths import CACHES, KEYS

JOURNAL = "journal.db"
LEFT_OUT = (
    JOURNAL,
    "journal.db-wal",
    "journal.db-shm",
    "journal.db-job",
    "journal.db-new",
    "run",
    "lock",
    "agent-prompts",
    "daemon.log",
    "daemon.log.1",
)


@dataclass(frozen=True)
class HomeEntry:
    """A file, folder or symbolic link; ``name`` is its path below the home."""

    name: str
    path: Path
    facts: os.stat_result


def list_home_entries(home: Path, *, keys: bool) -> Iterator[HomeEntry]:
    """Yield the entries of a backup, each folder before its contents.

    Sockets, named pipes and devices are left out.

    Raises:
        OrchestratorError: a folder cannot be read.
    """
    skipped = LEFT_OUT if keys else (*LEFT_OUT, *KEYS)
    for entry in _walk_folder(home, ""):
        if entry.name.partition("/")[0] not in skipped:
            yield entry


def _walk_folder(folder: Path, prefix: str) -> Iterator[HomeEntry]:
    for found in _scan_folder(folder):
        try:
            facts = found.stat(follow_symlinks=False)
        except FileNotFoundError:  # deleted meanwhile
            continue
        entry = HomeEntry(prefix + found.name, folder / found.name, facts)
        if stat.S_ISDIR(facts.st_mode):
            if found.name not in CACHES:
                yield entry
                yield from _walk_folder(entry.path, f"{entry.name}/")
        elif stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode):
            yield entry


def _scan_folder(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise OrchestratorError(
            f"{folder}: cannot be read ({error.strerror}); use the daemon's user, or correct it"
        ) from error
