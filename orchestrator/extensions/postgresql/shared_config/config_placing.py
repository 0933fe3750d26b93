"""Update a home to a shared version, and detect local edits.

A locally edited file is never lost: it stays beside the new one.
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
from orchestrator.extensions.postgresql.shared_config.config_files import (
    KIND,
    MAIN,
    PARTS,
    list_config_names,
)
from orchestrator.extensions.postgresql.shared_config.pushed_config import PushedFile, PushedVersion
from orchestrator.files import write_private
from orchestrator.home_paths import Paths
from thinker.formats.regular_file import (
    MIB,
    FileError,
    FileKind,
    FileMissingError,
    Identity,
    read_bytes,
    read_identity,
)

UNREADABLE = "no file that can be read"  # in place of a digest
RECORD = FileKind(4 * MIB, "remove it")
SeenFiles = Mapping[str, tuple[Identity | None, str | None]]  # identity and digest by file name
log = structlog.get_logger()


class AppliedVersion(BaseModel):
    """A version that was applied to a home, with the digests of its files, keyed by name."""

    model_config = ConfigDict(frozen=True)

    version: int = 0
    digest: str = ""
    files: dict[str, str] = {}


def load_applied_version(paths: Paths) -> AppliedVersion:
    """Return the version applied to a home; 0 if none was, or it is unknown.

    In that case every differing file counts as edited and is kept.
    """
    try:
        return AppliedVersion.model_validate_json(read_bytes(paths.pushed, RECORD))
    except (FileError, ValidationError):
        return AppliedVersion()


def place_version(
    paths: Paths, version: PushedVersion, files: Sequence[PushedFile]
) -> AppliedVersion:
    """Write the files of a version, and remove those of earlier versions only.

    agents.json is written after the files that it names, and before others are removed. The
    function may be repeated after an interruption.

    Raises:
        OSError: a file cannot be written.
        ConfigError: a file is not configuration.
    """
    before = load_applied_version(paths)
    for file in files:
        _require_shared_name(file.name)
    written = sum(
        _write_file(paths.home, file, before.files.get(file.name))
        for file in sorted(files, key=lambda file: file.name == MAIN)
    )
    gone = before.files.keys() - {file.name for file in files}
    for name in sorted(gone):
        _remove_file(paths.home, name, before.files[name])
    now = AppliedVersion(
        version=version.number,
        digest=version.digest,
        files={file.name: _hash_bytes(file.data) for file in files},
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


def write_files(folder: Path, files: Sequence[PushedFile]) -> None:
    """Write files to a new or empty folder.

    Raises:
        ConfigError: the folder has files, or cannot be written.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ConfigError(f"{folder}: not empty; name a new folder")
        for file in files:
            _require_shared_name(file.name)
            _write_file(folder, file, None)
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}; name a folder that you own") from error


def list_local_edits(
    paths: Paths, known: AppliedVersion, seen: SeenFiles
) -> tuple[tuple[str, ...], SeenFiles]:
    """Return the names of files that differ from the applied version, and a cache for next time.

    They are changed, missing or new. Only files changed since the last call are read.
    """
    there = set(known.files)
    with suppress(ConfigError):  # a push reports what cannot be pushed
        there |= {*list_config_names(paths.home)}
    now: dict[str, tuple[Identity | None, str | None]] = {}
    for name in there:
        path = paths.home / name
        same = read_identity(path)
        now[name] = seen[name] if seen.get(name, ((), ""))[0] == same else (same, _hash_file(path))
    differ = (name for name, (_, digest) in now.items() if digest != known.files.get(name))
    return tuple(sorted(differ)), now


def _write_file(home: Path, file: PushedFile, known: str | None) -> bool:
    """Restore a file to its pushed content; return whether it differed."""
    target, mode = home / file.name, 0o700 if file.executable else 0o600
    if _hash_file(target) == _hash_bytes(file.data):
        now = target.stat().st_mode
        if bool(now & 0o100) is file.executable:
            return False
    for parent in reversed(_list_parents(file.name)):
        folder = home / parent
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            _keep_aside(folder, home)
        folder.mkdir(mode=0o700, exist_ok=True)
    found = _hash_file(target)
    if found not in (None, known, _hash_bytes(file.data)):
        _keep_aside(target, home, stays=True)
    write_private(target, file.data, mode)
    return True


def _remove_file(home: Path, name: str, known: str) -> None:
    """Remove an applied file, and folders that become empty."""
    target = home / name
    if Path(os.path.realpath(target.parent)) != Path(os.path.realpath(home), name).parent:
        return  # a link leads to a folder outside the home
    found = _hash_file(target)
    if found == known:
        target.unlink(missing_ok=True)
    elif found is not None:
        _keep_aside(target, home)
    for parent in _list_parents(name)[:-1]:  # prompts, skills and so on stay
        with suppress(OSError):
            (home / parent).rmdir()


def _list_parents(name: str) -> list[PurePosixPath]:
    """Return a file's parent folders below the home, innermost first."""
    return list(PurePosixPath(name).parents)[:-1]


def _keep_aside(path: Path, home: Path, *, stays: bool = False) -> None:
    """Keep a user's file or folder beside the path that is needed.

    ``stays``: if possible, it also stays in place until it is replaced.
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


def _hash_file(path: Path) -> str | None:
    """Return the digest of a file; None if it does not exist."""
    try:
        return _hash_bytes(read_bytes(path, KIND))
    except FileMissingError:
        return None
    except FileError:
        return UNREADABLE


def _hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _require_shared_name(name: str) -> None:
    """Refuse a name that leads out of the configuration."""
    parts = name.split("/")
    if parts[0] not in PARTS or not all(parts) or {".", ".."} & {*parts} or "\0" in name:
        raise ConfigError(f"the pushed file {name!r} is not configuration; push again")
