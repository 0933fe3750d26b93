"""Collect a folder's configuration files; keys and state stay on each machine."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.errors import ConfigError
from orchestrator.extensions.postgresql.shared_config.pushed_config import PushedFile
from orchestrator.home_paths import BY_PEOPLE, CACHES, KEYS
from thinker.formats.regular_file import (
    MIB,
    FileError,
    FileKind,
    Folder,
    read_bytes,
    resolve_inside,
)

PARTS = tuple(name for name in BY_PEOPLE if name not in KEYS)  # files and folders of a home
MAIN = "agents.json"
MAX_BYTES = 16 * MIB  # of all files together; each machine gets them in one answer
MAX_FILES = 2000  # each machine checks all of them every two seconds
KIND = FileKind(MAX_BYTES, "move it out of what is shared")
LOCAL = re.compile(r".+\.local-\d+")  # an edit that a machine has kept


@dataclass
class CollectedFiles:
    """Files, and the names of skipped ones: keys and hidden files."""

    files: list[PushedFile] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def collect_files(folder: Path) -> CollectedFiles:
    """Collect the configuration of a folder.

    Raises:
        ConfigError: a file cannot be read, a link leads elsewhere, or there is too much.
    """
    found, size = CollectedFiles(), 0
    try:
        for name in list_config_names(folder, found.left_out):
            found.files.append(_read_file(folder, name))
            size += len(found.files[-1].data)
            if size > MAX_BYTES or len(found.files) > MAX_FILES:
                raise _make_size_error(folder, found.files)
    except OSError as error:
        raise ConfigError(
            f"{error.filename}: {error.strerror}; make it readable for the user of this program"
        ) from error
    return found


def _read_file(folder: Path, name: str) -> PushedFile:
    path = folder / name
    try:
        data = read_bytes(path, KIND)
        return PushedFile(name, bool(path.stat().st_mode & 0o100), data)
    except FileError as error:
        raise ConfigError(f"{path}: {error}") from error


def _make_size_error(folder: Path, files: Sequence[PushedFile]) -> ConfigError:
    largest = max(files, key=lambda file: len(file.data))
    return ConfigError(
        f"{folder}: a shared configuration has at most {MAX_BYTES // MIB} MiB in {MAX_FILES} files,"
        f" and this one has more; the largest file is {largest.name} ({len(largest.data):,} bytes);"
        " move other files out of it"
    )


def list_config_names(folder: Path, left_out: list[str] | None = None) -> Iterator[str]:
    """Yield the names of configuration files; add others to ``left_out``.

    Raises:
        ConfigError: a folder cannot be read, a link leads elsewhere, or a name is not UTF-8.
    """
    left_out = [] if left_out is None else left_out
    for part in PARTS:
        yield from _walk_names(folder, part, left_out)


def _walk_names(folder: Path, name: str, left_out: list[str]) -> Iterator[str]:
    path = folder / name
    if path.is_symlink():
        _require_shared(folder, path)
    if not path.is_dir():
        if path.is_symlink() or path.exists():
            yield name
        return
    try:
        listed = Folder(path)
        found = listed.list_names()
    except FileError as error:
        raise ConfigError(f"{path}: {error}") from error
    if listed.left_out:  # another machine would lack them
        raise ConfigError(f"{path}: {listed.left_out}")
    for entry in found:
        if entry != entry.encode(errors="replace").decode():
            raise ConfigError(f"{path}: the name {entry!r} is not UTF-8; rename it")
        if entry in KEYS or (entry.startswith(".") and entry not in CACHES):
            left_out.append(f"{name}/{entry}")
        elif _is_shared(entry):
            yield from _walk_names(folder, f"{name}/{entry}", left_out)


def _is_shared(entry: str) -> bool:
    hidden = entry.startswith(".")
    return not (hidden or entry in (*CACHES, *KEYS) or LOCAL.fullmatch(entry))


def _require_shared(folder: Path, path: Path) -> None:
    """Require that a link leads to another configuration file."""
    real = resolve_inside(folder, path)
    if real is None:
        raise ConfigError(f"{path}: this link leads out of {folder}; replace it with its target")
    parts = real.relative_to(Path(folder).resolve()).parts
    if not parts or parts[0] not in PARTS or not all(map(_is_shared, parts[1:])):
        raise ConfigError(
            f"{path}: this link leads to {real}, which is not shared; replace it with a file"
        )
    if real.is_dir():
        raise ConfigError(f"{path}: this link leads to a folder; replace it with the folder")
