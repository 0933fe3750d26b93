"""Find what other users of this machine could change: configuration, code, and ways to them.

A user who changes one of these files decides what the daemon does, with all of its keys.
"""

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from orchestrator.home_paths import BY_PEOPLE, PACKAGE
from orchestrator.settings import Settings

MAX_LOOKED = 5000  # files of one folder
SKIPPED = frozenset({"__pycache__", "node_modules", "objects", ".mypy_cache", ".ruff_cache"})
CODE = (
    "orchestrator",
    "thinker",
    "scripts",
    "config",
    "prompts",
    "skills",
    ".git",
)  # of a checkout


def list_open_files(settings: Settings) -> Iterator[tuple[Path, str]]:
    """Yield each place that others could change, and a sentence with the command that closes it."""
    home, config = settings.home, settings.find_agents_file()
    roots = [home / name for name in BY_PEOPLE]
    code = (
        [PACKAGE] if PACKAGE.parent.name.endswith("-packages") else _list_checkout(PACKAGE.parent)
    )
    seen: set[Path] = set()
    ways = chain.from_iterable(_list_ways(path) for path in (home, config, PACKAGE))
    for place in (*ways, home, config, *roots, *code):
        if place in seen:
            continue
        seen.add(place)
        found = _walk_place(place, deep=place in roots or place in code)
        open_ones = [(Path(path), who) for path in found if (who := _find_writers(path))]
        if open_ones:
            yield place, _describe(place, open_ones)


def _list_checkout(root: Path) -> list[Path]:
    return [root, *(root / name for name in CODE)]


def _list_ways(path: Path) -> Iterator[Path]:
    """Yield the folders above a path in which others could exchange it."""
    for folder in path.absolute().parents:
        try:
            mode = folder.stat().st_mode
        except OSError:
            continue
        if not mode & stat.S_ISVTX:
            yield folder


def _walk_place(place: Path, *, deep: bool) -> Iterator[str]:
    yield str(place)
    if not deep or not place.is_dir() or place == PACKAGE.parent:
        return
    looked = 0
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(set(folders) - SKIPPED)
        for name in (*folders, *sorted(names)):
            looked += 1
            if looked > MAX_LOOKED:
                return
            yield f"{folder}/{name}"


def _find_writers(path: str) -> str:
    """Return who else can change a path, by its mode; a link counts as what it leads to."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - thousands of Path objects would take as long again
    except OSError:
        return ""
    if facts.st_mode & stat.S_IWOTH:
        return "every user of this machine"
    if facts.st_mode & stat.S_IWGRP and has_other_members(facts.st_gid):
        return f"the group {_find_group_name(facts.st_gid)}"
    return ""


@cache
def has_other_members(gid: int) -> bool:
    """Return whether a group has members besides this user and root."""
    own = {os.geteuid(), 0}
    primary = {person.pw_uid for person in pwd.getpwall() if person.pw_gid == gid}
    try:
        names = grp.getgrgid(gid).gr_mem
    except KeyError:
        names = []
    known = {person.pw_name: person.pw_uid for person in pwd.getpwall()}
    return bool((primary | {known.get(name, -1) for name in names}) - own)


def _find_group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return f"#{gid}"


def _describe(place: Path, open_ones: list[tuple[Path, str]]) -> str:
    (first, who), more = open_ones[0], len(open_ones) - 1
    inside = f"; so are {more} more files in it" if more else ""
    named = (
        "can be changed"
        if first == place
        else f"has {first.relative_to(place)}, which can be changed"
    )
    wide = "chmod -R" if more or first != place else "chmod"
    return (
        f"{named} by {who}, who would decide what the daemon does{inside}; run: {wide} go-w {place}"
    )
