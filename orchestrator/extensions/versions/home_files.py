"""Read and replace single files of a home: never through a link that leaves it."""

import os
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from orchestrator.editable import TextChangedError
from orchestrator.errors import ConfigError
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileKind, FileMissingError

NEW_MODE = 0o600


class FilePlace(NamedTuple):
    """A file, and the folders that no link on the way to it may leave."""

    path: Path
    roots: tuple[Path, ...]

    def resolve(self) -> Path:
        """Return the path behind all links.

        Raises:
            ConfigError: a link leaves one of the folders.
        """
        for root in self.roots:
            if regular_file.resolve_inside(root, self.path) is None:
                raise ConfigError(
                    f"{self.path} leads out of {root} by a link; edit what it links to instead"
                )
        return Path(os.path.realpath(self.path))


def read_file(place: FilePlace, kind: FileKind) -> str | None:
    """Return the text of a file with its own ends of lines; None without a file.

    Raises:
        ConfigError: it cannot be read, or a link leads out of its folder.
    """
    path = place.path
    try:
        return regular_file.read_text(place.resolve(), kind)
    except FileMissingError:
        return None
    except FileError as error:
        raise ConfigError(f"{path}: {error}") from error


def replace_file(place: FilePlace, kind: FileKind, old: str | None, new: str) -> None:
    """Replace a file whole and at once; its mode and owner stay.

    Raises:
        ConfigError: it cannot be written, or a link leads out of its folder.
        TextChangedError: the file has another text by now.
    """
    path, real = place.path, place.resolve()
    fresh = real.with_name(f".{real.name}.{uuid4().hex}")
    try:
        real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, NEW_MODE)
        with os.fdopen(fd, "wb") as file:
            _keep_owner(real, file.fileno())
            file.write(new.encode())
            file.flush()
            os.fsync(file.fileno())
        _require_text(real, kind, old)
        fresh.replace(real)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        fresh.unlink(missing_ok=True)


def remove_file(place: FilePlace, kind: FileKind, old: str | None) -> None:
    """Remove a file with this text; a link at the path itself is removed, not followed.

    Raises:
        ConfigError: it cannot be removed, or a link leads out of its folder.
        TextChangedError: the file has another text by now.
    """
    path = place.path
    _require_text(place.resolve(), kind, old)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be removed ({error.strerror})") from error


def list_files(root: Path, pattern: str) -> list[Path]:
    """Return the files below ``root`` that match a glob and are no links out of it, in order."""
    try:
        found = sorted(root.glob(pattern))
    except OSError:
        return []
    inside = (path for path in found if regular_file.resolve_inside(root, path) is not None)
    return [path for path in inside if path.is_file()][: regular_file.MAX_ENTRIES]


def _require_text(path: Path, kind: FileKind, text: str | None) -> None:
    try:
        present = regular_file.read_text(path, kind)
    except FileMissingError:
        present = None
    except FileError as error:
        raise TextChangedError(f"{path}: {error}") from error
    if present != text:
        raise TextChangedError(f"{path} was changed meanwhile; read it again")


def _keep_owner(path: Path, fd: int) -> None:
    """Give a new file the mode of the one that it replaces, and its owner if that is another."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    os.fchmod(fd, found.st_mode & 0o7777)
    if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
        os.fchown(fd, found.st_uid, found.st_gid)
