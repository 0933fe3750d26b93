"""Choose paths to grant that cover the machine except some folders.

Landlock grants folders with all below them. To leave one out, everything next to the path that
leads there is granted. So nothing new can be made directly in a folder that leads to a hidden one.
"""

import os
from collections.abc import Iterable, Iterator, Sequence

ROOT = "/"


def cover_all_but(hidden: Iterable[str], roots: Iterable[str] = (ROOT,)) -> list[str]:
    """Return the paths that together cover ``roots`` without the ``hidden`` paths."""
    real = tuple({os.path.realpath(path) for path in hidden})
    starts = dict.fromkeys(os.path.realpath(root) for root in roots)
    return list(dict.fromkeys(path for start in starts for path in _cover_path(start, real)))


def is_inside(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of the folders or below one."""
    return any(path == folder or path.startswith(_add_slash(folder)) for folder in folders)


def _cover_path(path: str, hidden: Sequence[str]) -> Iterator[str]:
    if is_inside(path, hidden):
        return
    if not any(other.startswith(_add_slash(path)) for other in hidden):
        yield path
        return
    try:
        with os.scandir(path) as entries:
            # A link's target is covered where it really is, or hidden.
            names = sorted(entry.path for entry in entries if not entry.is_symlink())
    except OSError:  # this user cannot look into it
        return
    for name in names:
        yield from _cover_path(name, hidden)


def _add_slash(folder: str) -> str:
    return folder.rstrip("/") + "/"
