"""Choose paths to grant that cover the machine except some folders.

Landlock grants folders with all below them. To leave one out, everything next to the path that
leads there is granted. So nothing new can be made directly in a folder that leads to a hidden one.
"""

import os
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import PurePath

ROOT = "/"


def cover_all_but(hidden: Iterable[str], roots: Iterable[str] = (ROOT,)) -> list[str]:
    """Return the paths that together cover ``roots`` without the ``hidden`` paths."""
    real = {os.path.realpath(path) for path in hidden}
    above = {str(parent) for path in real for parent in PurePath(path).parents}
    starts = dict.fromkeys(os.path.realpath(root) for root in roots)
    visible = (start for start in starts if not is_inside(start, real))
    return list(
        dict.fromkeys(path for start in visible for path in _cover_path(start, real, above))
    )


def is_inside(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of the folders or below one."""
    return any(path == folder or path.startswith(_add_slash(folder)) for folder in folders)


def _cover_path(path: str, hidden: AbstractSet[str], above: AbstractSet[str]) -> Iterator[str]:
    """Yield what covers a path; ``above`` are the folders that lead to a hidden one."""
    if path in hidden:
        return
    if path not in above:
        yield path
        return
    try:
        with os.scandir(path) as entries:
            # A link's target is covered where it really is, or hidden.
            names = sorted(entry.path for entry in entries if not entry.is_symlink())
    except OSError:  # this user cannot look into it
        return
    for name in names:
        yield from _cover_path(name, hidden, above)


def _add_slash(folder: str) -> str:
    return folder.rstrip("/") + "/"
