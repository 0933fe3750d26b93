"""List what belongs in a backup of a home: its state and configuration.

The journal's own files are left out (SQLite's copy takes their place), as are regenerated files,
caches and logs; keys are included only on request.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path

from orchestrator.errors import OrchestratorError
from orchestrator.home_paths import CACHES, CHATS, KEYS, find_bundled_path

JOURNAL = "journal.db"
JAILED = ("workspaces", "servers")  # what is in them was written behind walls
SKILL_LINKS = (".claude", "skills")  # a folder in a workspace, with a link to each skill
BACKUPS = "backups"  # the folder of those that the daemon writes
SCRATCH = ".orchestrator-backup-"  # prefix of the folder that one is written in first
LEFT_OUT = (
    BACKUPS,
    JOURNAL,
    "journal.db-wal",
    "journal.db-shm",
    "journal.db-job",
    "journal.db-failed",
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

    Sockets, named pipes and devices are left out, and the daemon's links to bundled skills: the
    daemon makes them anew.

    Raises:
        OrchestratorError: a folder cannot be read.
    """
    skipped = LEFT_OUT if keys else (*LEFT_OUT, *KEYS)
    for entry in _walk_folder(home, ""):
        if entry.name.partition("/")[0] not in skipped and not _is_bundled_skill(entry):
            yield entry


def stays_in_home(name: str, leads_to: str, home: Path) -> bool:
    """Return whether a restore makes a link again: only one that leads to a place in the home.

    Links in a folder of an agent or a server may lead anywhere, as virtual environments have them:
    agents and servers follow them in their jails.
    """
    if _is_in_jailed_folder(name):
        return True
    target = Path(leads_to)
    if target.is_absolute():
        if not target.is_relative_to(home):
            return False
        name, target = ".", target.relative_to(home)
    found = os.path.normpath(Path(name).parent / target)
    # Behind another link, ".." leads elsewhere, and a link of an agent leads anywhere.
    plain = ".." not in list(dropwhile(lambda part: part == "..", target.parts))
    return plain and found.split("/")[0] not in ("..", *JAILED)


def _is_in_jailed_folder(name: str) -> bool:
    """Return whether a path is below the folder of one agent, chat or server."""
    parts = name.split("/")
    depth = 3 if len(parts) > 1 and parts[1].endswith(CHATS) else 2
    return parts[0] in JAILED and len(parts) > depth


def _is_bundled_skill(entry: HomeEntry) -> bool:
    """Return whether an entry is a workspace's link to a skill that comes with the program."""
    folder = Path(entry.name).parent
    if not stat.S_ISLNK(entry.facts.st_mode) or not _is_in_jailed_folder(entry.name):
        return False
    with suppress(FileNotFoundError):  # deleted meanwhile
        target = entry.path.readlink()
        return folder.parts[-2:] == SKILL_LINKS and target.parent == find_bundled_path("skills")
    return False


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
