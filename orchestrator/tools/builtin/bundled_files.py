"""List the files bundled with a skill, and read one without leaving the skill's folder."""

import os
from pathlib import Path, PurePosixPath

from orchestrator.tools.builtin.host_tool import ToolFailure
from thinker.formats.skill_file import FILE_NAME

MAX_BYTES = 256 * 1024  # of one file; the limit of SKILL.md
MAX_LISTED = 100  # paths in one message to the model


def bundled_files(folder: Path) -> tuple[str, ...]:
    """Return the files below a skill's folder, as sorted relative paths with ``/``.

    SKILL.md, hidden files and links that leave the folder are left out. At most `MAX_LISTED`.
    """
    root = folder.resolve()
    found: list[str] = []
    for directory, below, names in os.walk(folder):
        below[:] = [name for name in below if not name.startswith(".")]
        paths = [Path(directory, name) for name in names if not name.startswith(".")]
        found += [
            path.relative_to(folder).as_posix()
            for path in paths
            if path.is_file() and path.resolve().is_relative_to(root)
        ]
    return tuple(sorted(path for path in found if path != FILE_NAME)[:MAX_LISTED])


def read_bundled(folder: Path, path: str) -> str:
    """Return the text of a file below a skill's folder.

    Raises:
        ToolFailure: the path leaves the folder, or names no regular UTF-8 file of at most
            `MAX_BYTES`. The message lists the bundled files.
    """
    try:
        return _text(_inside(folder, path))
    except (ValueError, OSError) as error:
        # The whole message of an OSError would show the host's paths.
        reason = error.strerror if isinstance(error, OSError) else str(error)
        there = ", ".join(bundled_files(folder)) or "no bundled files"
        raise ToolFailure(f"cannot read {path!r}: {reason}; there are: {there}") from error


def _inside(folder: Path, name: str) -> Path:
    path = PurePosixPath(name)
    if path.is_absolute() or "\0" in name or any(part.startswith(".") for part in path.parts):
        raise ValueError("the path must be relative to the skill's folder, without '..'")
    try:
        real = (folder / path).resolve()
    except RuntimeError as error:  # up to Python 3.12
        raise ValueError("the links of this path lead in a circle") from error
    if not real.is_relative_to(folder.resolve()):
        raise ValueError("the path leaves the skill's folder")
    return real


def _text(real: Path) -> str:
    if not real.is_file():  # opening a named pipe would wait for a writer
        raise ValueError("there is no such file")
    with real.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES // 1024} KiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("not UTF-8 text") from error
