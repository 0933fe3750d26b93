"""Folders and links that the server puts into a workspace for its commands."""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from orchestrator.extensions.workspace import system_folders

TEMPORARY = ".tmp"
SKILLS = (".claude", "skills")  # where the scripts of many skills are called
PROGRAMS = (".local", "bin")  # the first folder of a command's search path
MAX_AGE_SECONDS = 24 * 3600.0  # for which a temporary file is kept unchanged


def prepare_temporary_folder(home: Path, now: float) -> Path:
    """Return the folder of temporary files, after removing those unchanged for a day."""
    folder = home / TEMPORARY
    folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):  # a command removed it
                status = entry.stat(follow_symlinks=False)
                # A copy may have the times of its original; the kernel's own time tells the truth.
                if now - max(status.st_mtime, status.st_ctime) > MAX_AGE_SECONDS:
                    _remove_entry(entry)
    return folder


def _remove_entry(entry: "os.DirEntry[str]") -> None:
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path, ignore_errors=True)
    else:
        Path(entry.path).unlink()


def link_python(home: Path, programs: Path | None = None) -> None:
    """Let ``python`` be the program ``python3`` where the system has no ``python``.

    Scripts of skills are called by either name, and need the same packages, also those that the
    operator installed among the ``programs`` of all chats.
    """
    system = ":".join(system_folders.SEARCH_PATH)
    named, found = (shutil.which(name, path=system) for name in ("python", "python3"))
    link = home.joinpath(*PROGRAMS, "python")
    if named is not None or found is None:
        return
    own = programs / "bin" / "python3" if programs else Path(found)
    with suppress(OSError):
        if not link.exists() or link.readlink() == Path(found):
            _replace_link(link, own if own.exists() else Path(found))


def link_skills(home: Path, skills: Iterable[Path]) -> None:
    """Let ``.claude/skills/NAME`` lead to each skill; of two with one name, to the later one."""
    named = {skill.name: skill for skill in skills if (skill / "SKILL.md").is_file()}
    for name, skill in named.items():
        _replace_link(home.joinpath(*SKILLS, name), skill)


def resolve_skill_link(home: Path, parts: tuple[str, ...]) -> Path:
    """Return the path of ``parts`` below a workspace, or in the skill that a link leads to."""
    depth = len(SKILLS)
    if parts[:depth] == SKILLS and len(parts) > depth:
        with suppress(OSError):
            target = home.joinpath(*parts[: depth + 1]).readlink()
            if target.is_absolute():
                return target.joinpath(*parts[depth + 1 :])
    return home.joinpath(*parts)


def _replace_link(link: Path, target: Path) -> None:
    """Make a link, replacing one that leads elsewhere but nothing else of the agent's."""
    with suppress(OSError):
        if link.is_symlink() and link.readlink() != target:
            link.unlink()
        if not os.path.lexists(link):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)
