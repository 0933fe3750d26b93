"""Read files of people and agents without blocking and within limits.

A named pipe, a socket or a device in place of a file would block a reader, or never end. So every
file of a home is opened here: only a regular file of limited size is read.
"""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

KIB = 1024
MIB = 1024 * KIB
MAX_ENTRIES = 1000  # of a folder: more would slow every turn, which looks for changed files
MAX_LISTED = 20 * MAX_ENTRIES  # of a folder whose further entries are left out
MAX_NAMED = 10  # entries that a message names
MAX_FOLDER = 8 * MIB  # of all files of a folder that are read together: parsing takes seconds
ATTEMPTS = 3  # to read a file that is being written
# Opening or reading a file with a lease, or one of a kernel interface, could block.
FLAGS = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

Identity = tuple[int, ...]
CHANGED, SIZE = 3, 4  # places in an identity
SETTLED_NS = 2_000_000_000  # the coarsest file times that any file system keeps

KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
CORRECTIONS = {
    errno.EACCES: "make it readable for the user of this program",
    errno.EPERM: "make it readable for the user of this program",
    errno.ELOOP: "its links lead in a circle; correct them",
    errno.EAGAIN: "another program holds it; try again",
}


class FileKind(NamedTuple):
    """A kind of file: the maximum size in bytes, and what to do about a larger one."""

    max_bytes: int
    advice: str


AGENTS_FILE = FileKind(8 * MIB, "is it the right file?")  # ten thousand agents
# A systemPrompt of agents.json is written to such a file, so its limit is not lower.
BASE_PROMPT = FileKind(AGENTS_FILE.max_bytes, "shorten it")
DEFINITION = FileKind(256 * KIB, "split it and include the parts")  # more than most models take
SKILL = FileKind(256 * KIB, "move detail to other files")  # the same
BUNDLED_FILE = FileKind(256 * KIB, "split it")  # one tool result
HOOK = FileKind(1 * MIB, "move code to an installed package")  # source code of one module
TOKEN = FileKind(4 * KIB, "it must hold one token and nothing else")
KEYS = FileKind(64 * KIB, "it must hold keys and nothing else")
STORED_PROMPTS = FileKind(4 * MAX_FOLDER, "remove it")  # two folders, written out as JSON


class FileError(Exception):
    """A file or folder cannot be used; the message says why and what to do, without the path."""


class FileMissingError(FileError):
    """There is nothing at the path."""


class Folder:
    """A folder whose files are read together, at most `MAX_FOLDER` bytes.

    ``left_out`` says which entries `list_names` did not return; it is empty if it returned all.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.left_out = ""
        self._room = MAX_FOLDER

    def read_text(self, path: Path, kind: FileKind) -> str:
        """Read a file of the folder, as `read_text` does.

        Raises:
            FileError: as `read_text`, or the files read so far exceed `MAX_FOLDER`.
        """
        text = read_text(path, kind)
        self.take_room(len(text))
        return text

    def take_room(self, size: int) -> None:
        """Count a file of the folder.

        Raises:
            FileError: the files counted so far exceed `MAX_FOLDER`.
        """
        self._room -= size
        if self._room < 0:
            limit = _format_size(MAX_FOLDER)
            raise FileError(f"the files of {self.path} have more than {limit}; remove some")

    def list_names(self) -> list[str]:
        """Return the first `MAX_ENTRIES` sorted names in the folder; none if there is no folder.

        Raises:
            FileError: the path is not a folder, is unreadable, or has over `MAX_LISTED` entries.
        """
        try:
            names = sorted(_iter_names(self.path))
        except FileMissingError:
            return []
        rest = names[MAX_ENTRIES:]
        if rest:
            more = f" and {len(rest) - MAX_NAMED} more" if len(rest) > MAX_NAMED else ""
            named = f"these are left out: {', '.join(rest[:MAX_NAMED])}{more}"
            self.left_out = f"more than {MAX_ENTRIES} entries, so {named}; move some elsewhere"
        return names[:MAX_ENTRIES]


def read_text(path: Path, kind: FileKind) -> str:
    """Read UTF-8 text without its byte order mark.

    Raises:
        FileMissingError: there is no file.
        FileError: the file cannot be read, is not regular, is too large or is not text.
    """
    data = read_bytes(path, kind)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"not UTF-8 at byte {error.start}; save it as UTF-8") from error
    if (at := text.find("\0")) >= 0:
        line = text.count("\n", 0, at) + 1
        raise FileError(f"line {line} has a NUL character; is it a text file?")
    return text


def read_bytes(path: Path, kind: FileKind) -> bytes:
    """Read a regular file.

    Raises:
        FileMissingError: there is no file.
        FileError: the file cannot be read, is not regular or is too large.
    """
    fd = open_regular(path, os.O_RDONLY)
    try:
        for _ in range(ATTEMPTS):
            data = _read_limited(fd, kind.max_bytes + 1)
            size = os.fstat(fd).st_size
            if max(len(data), size) > kind.max_bytes:
                raise FileError(
                    f"larger than {_format_size(kind.max_bytes)} ({max(len(data), size)} bytes);"
                    f" {kind.advice}"
                )
            if len(data) == size:
                return data
    except OSError as error:
        raise _build_file_error(path, error) from error
    finally:
        os.close(fd)
    raise FileError("the file changed while it was read; write a temporary file and rename it")


def open_regular(path: Path, flags: int) -> int:
    """Open a regular file with these flags, without blocking, and return its descriptor.

    Raises:
        FileMissingError: there is no file, and the flags do not create one.
        FileError: the file cannot be opened or is not regular.
    """
    try:
        try:
            _require_regular(os.stat(path))  # noqa: PTH116 - before opening, which some devices act on
        except FileNotFoundError:
            if not flags & os.O_CREAT:
                raise
        fd = os.open(path, flags | FLAGS, 0o600)
    except (OSError, ValueError) as error:
        raise _build_file_error(path, error) from error
    try:
        _require_regular(os.fstat(fd))  # another file may have taken its place
    except FileError:
        os.close(fd)
        raise
    return fd


def resolve_inside(folder: Path, path: Path) -> Path | None:
    """Return the target of a path; None if its links leave the folder."""
    real = Path(os.path.realpath(path))  # unlike `resolve`, it lets a circle of links pass
    return real if real.is_relative_to(os.path.realpath(folder)) else None


def read_identity(path: str | Path) -> Identity | None:
    """Return values that change with a file: device, inode, times (in nanoseconds), size.

    Return None if the file does not exist or is unreachable.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - takes half the time of Path.stat
    except (OSError, ValueError):  # ValueError: a name with a NUL byte
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


def _iter_names(folder: Path) -> Iterator[str]:
    count = 0
    try:
        with os.scandir(folder) as entries:  # scandir opens only folders
            for entry in entries:
                count += 1
                if count > MAX_LISTED:
                    raise FileError(f"more than {MAX_LISTED} entries; move some elsewhere")
                yield entry.name
    except NotADirectoryError as error:
        raise FileError("not a directory; replace it with one") from error
    except (OSError, ValueError) as error:
        raise _build_file_error(folder, error) from error


def _read_limited(fd: int, limit: int) -> bytes:
    os.lseek(fd, 0, os.SEEK_SET)
    parts = []
    while limit > 0 and (part := os.read(fd, limit)):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def _require_regular(found: os.stat_result) -> None:
    kind = stat.S_IFMT(found.st_mode)
    if kind != stat.S_IFREG:
        what = KINDS.get(kind, "a special file")
        raise FileError(f"{what}, not a regular file; replace it with one")


def _build_file_error(path: Path, error: OSError | ValueError) -> FileError:
    if not isinstance(error, OSError):  # a NUL character in the name
        return FileError(f"{error}; correct the path")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        if path.is_symlink():
            return FileError("it links to a file that does not exist; correct the link")
        return FileMissingError("file not found")
    advice = CORRECTIONS.get(error.errno or 0, "make it a readable file")
    return FileError(f"{error.strerror}; {advice}")


def _format_size(count: int) -> str:
    return f"{count // MIB} MiB" if count % MIB == 0 else f"{count // KIB} KiB"
