"""Bring a home to a version of the shared configuration, and find what was edited there since.

A file that people have edited here is never lost: it stays beside the new one.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path, PurePosixPath

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError

from orchestrator.errors import ConfigError
from orchestrator.files import write_private
from orchestrator.home_paths import Paths
from orchestrator.journal.access.pushed_config import PushedFile, PushedVersion
from orchestrator.pushed.config_files import KIND, MAIN, PARTS, names
from thinker.formats.regular_file import (
    MIB,
    FileError,
    FileKind,
    FileMissingError,
    Identity,
    identity,
    read_bytes,
)

UNREADABLE = "no file that can be read"  # in place of a digest
RECORD = FileKind(4 * MIB, "remove it")
Seen = Mapping[str, tuple[Identity | None, str | None]]  # by name: identity and digest of a file
log = structlog.get_logger()


class Brought(BaseModel):
    """What a home was brought to: a version, and the digests of its files by their names."""

    model_config = ConfigDict(frozen=True)

    version: int = 0
    digest: str = ""
    files: dict[str, str] = {}


def brought(paths: Paths) -> Brought:
    """Return what a home was brought to; version 0 if it never was, or does not know any more.

    Then no file counts as a pushed one, so that each that differs is kept.
    """
    try:
        return Brought.model_validate_json(read_bytes(paths.pushed, RECORD))
    except (FileError, ValidationError):
        return Brought()


def place(paths: Paths, version: PushedVersion, files: Sequence[PushedFile]) -> Brought:
    """Write the files of a version, and remove those that only an earlier one has brought.

    agents.json comes after the files that it names, and before others go. When it was cut off, it
    may be done again.

    Raises:
        OSError: a file cannot be written.
        ConfigError: a file is not configuration.
    """
    before = brought(paths)
    for file in files:
        _require_shared_name(file.name)
    written = sum(
        _write(paths.home, file, before.files.get(file.name))
        for file in sorted(files, key=lambda file: file.name == MAIN)
    )
    gone = before.files.keys() - {file.name for file in files}
    for name in sorted(gone):
        _remove(paths.home, name, before.files[name])
    now = Brought(
        version=version.number,
        digest=version.digest,
        files={file.name: _digest(file.data) for file in files},
    )
    write_private(paths.pushed, now.model_dump_json(indent=1).encode())
    log.info(
        "config_brought",
        version=version.number,
        host=version.host,
        written=written,
        removed=len(gone),
    )
    return now


def write_to(folder: Path, files: Sequence[PushedFile]) -> None:
    """Write files to a folder that is new or empty.

    Raises:
        ConfigError: it has files, or cannot be written.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ConfigError(f"{folder}: there are files already; name a new folder")
        for file in files:
            _require_shared_name(file.name)
            _write(folder, file, None)
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}; name a folder that you own") from error


def local_edits(paths: Paths, known: Brought, seen: Seen) -> tuple[tuple[str, ...], Seen]:
    """Return the names of files that differ from what was brought, and what to pass next time.

    They are other, missing or new. Only files that have changed since are read.
    """
    there = set(known.files)
    with suppress(ConfigError):  # what cannot be pushed is told by a push
        there |= {*names(paths.home)}
    now: dict[str, tuple[Identity | None, str | None]] = {}
    for name in there:
        path = paths.home / name
        same = identity(path)
        now[name] = seen[name] if seen.get(name, ((), ""))[0] == same else (same, _content(path))
    differ = (name for name, (_, digest) in now.items() if digest != known.files.get(name))
    return tuple(sorted(differ)), now


def _write(home: Path, file: PushedFile, known: str | None) -> bool:
    """Let a file be as it was pushed; return whether it was not."""
    target, mode = home / file.name, 0o700 if file.executable else 0o600
    if _content(target) == _digest(file.data):
        now = target.stat().st_mode
        if bool(now & 0o100) is file.executable:
            return False
    for parent in reversed(_parents(file.name)):
        folder = home / parent
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            _aside(folder, home)
        folder.mkdir(mode=0o700, exist_ok=True)
    found = _content(target)
    if found not in (None, known, _digest(file.data)):
        _aside(target, home, stays=True)
    write_private(target, file.data, mode)
    return True


def _remove(home: Path, name: str, known: str) -> None:
    """Remove a file that was brought, and the folders that are empty then."""
    target = home / name
    if Path(os.path.realpath(target.parent)) != Path(os.path.realpath(home), name).parent:
        return  # a link leads to a folder that is not ours
    found = _content(target)
    if found == known:
        target.unlink(missing_ok=True)
    elif found is not None:
        _aside(target, home)
    for parent in _parents(name)[:-1]:  # prompts, skills and so on stay
        with suppress(OSError):
            (home / parent).rmdir()


def _parents(name: str) -> list[PurePosixPath]:
    """Return the folders of a file below the home, the innermost first."""
    return list(PurePosixPath(name).parents)[:-1]


def _aside(path: Path, home: Path, *, stays: bool = False) -> None:
    """Keep what people have put in the place of a file or folder, beside it.

    ``stays``: if possible, it stays in its place as well until it is replaced.
    """
    kept = next(
        beside
        for number in count(1)
        if not os.path.lexists(beside := path.with_name(f"{path.name}.local-{number}"))
    )
    if stays:
        with suppress(OSError):  # a folder, or a file system without such links
            os.link(path, kept, follow_symlinks=False)
    if not os.path.lexists(kept):
        path.rename(kept)
    log.warning("local_edit_kept", file=str(path.relative_to(home)), kept=str(kept))


def _content(path: Path) -> str | None:
    """Return the digest of a file; None if there is nothing."""
    try:
        return _digest(read_bytes(path, KIND))
    except FileMissingError:
        return None
    except FileError:
        return UNREADABLE


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _require_shared_name(name: str) -> None:
    """Refuse what would lead out of the configuration, whatever has written it."""
    parts = name.split("/")
    if parts[0] not in PARTS or not all(parts) or {".", ".."} & {*parts} or "\0" in name:
        raise ConfigError(f"the pushed file {name!r} is no configuration; push again")
