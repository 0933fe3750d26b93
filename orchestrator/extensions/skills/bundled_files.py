"""List a skill's bundled files, and read one without leaving the skill's folder."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath

from orchestrator.tools.builtin.host_tool import ToolFailure
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, Folder
from thinker.formats.skill_file import FILE_NAME

MAX_LISTED = 100  # paths in one message to the model


def list_bundled_files(folder: Path) -> tuple[str, ...]:
    """Return the files below a skill's folder, as sorted relative paths with ``/``.

    SKILL.md, hidden files, links that leave the folder and folders that are unreadable or too large
    are left out. At most `MAX_LISTED`.
    """
    found = [
        path.relative_to(folder).as_posix()
        for path in islice(_iter_below(folder), regular_file.MAX_ENTRIES)
        if path.is_file() and regular_file.resolve_inside(folder, path) is not None
    ]
    return tuple(sorted(path for path in found if path != FILE_NAME)[:MAX_LISTED])


def _iter_below(folder: Path) -> Iterator[Path]:
    """Yield everything below a folder, without following links to other folders."""
    folders = [folder]
    for directory in folders:  # grows
        with suppress(FileError):
            for name in Folder(directory).list_names():
                path = directory / name
                if name.startswith("."):
                    continue
                yield path
                if path.is_dir() and not path.is_symlink():
                    folders.append(path)


def read_bundled(folder: Path, path: str) -> str:
    """Return the text of a file below a skill's folder.

    Raises:
        ToolFailure: the path leaves the folder, or names no regular UTF-8 file of at most
            `BUNDLED_FILE` bytes. The message lists the bundled files.
    """
    try:
        return regular_file.read_text(_resolve_inside(folder, path), regular_file.BUNDLED_FILE)
    except FileError as error:
        there = ", ".join(list_bundled_files(folder)) or "no bundled files"
        raise ToolFailure(f"cannot read {path!r}: {error}; there are: {there}") from error


def _resolve_inside(folder: Path, name: str) -> Path:
    path = PurePosixPath(name)
    if path.is_absolute() or "\0" in name or any(part.startswith(".") for part in path.parts):
        raise FileError("the path must be relative to the skill's folder, without '..'")
    real = regular_file.resolve_inside(folder, folder / path)
    if real is None:
        raise FileError("the path leaves the skill's folder")
    return real
