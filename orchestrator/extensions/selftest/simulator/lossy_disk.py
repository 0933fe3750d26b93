"""A file system for SQLite on a disk that loses unsynced data, and that can be full.

It keeps real files, so that connections share them as usual, and a copy of the content that each
file would hold after a power failure.
"""

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeAlias

import apsw

NAME = "lossy"
BASE = "unix"  # SQLite's own on Linux
SECTOR = 512  # bytes; the unit that a disk writes atomically
FileName: TypeAlias = str | apsw.URIFilename | None


@dataclass
class DiskFile:
    """The synced content of a file, and the writes since."""

    synced: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes]] = field(default_factory=list)

    def write(self, data: bytes, offset: int) -> None:
        end = offset + len(data)
        if len(self.synced) < end:
            self.synced.extend(bytes(end - len(self.synced)))
        self.synced[offset:end] = data

    def sync(self) -> None:
        for offset, data in self.pending:
            self.write(data, offset)
        self.pending.clear()

    def lose_power(self, chance: Random) -> bytes:
        """Return the content of the disk: of each unsynced write some sectors, or none."""
        for offset, data in self.pending:
            for start in range(0, len(data), SECTOR):
                if chance.getrandbits(1):
                    self.write(data[start : start + SECTOR], offset + start)
        return bytes(self.synced)


class LossyDisk(apsw.VFS):
    """The default file system of SQLite while the object is registered.

    While it is ``full`` or ``broken``, writes fail.
    """

    def __init__(self) -> None:
        self.files: dict[str, DiskFile] = {}
        self.full = False
        self.broken = False
        super().__init__(NAME, BASE, makedefault=True)

    def xOpen(self, name: FileName, flags: list[int]) -> "_LossyFile":  # noqa: N802 - apsw's name
        return _LossyFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802, FBT001 - apsw's
        self.files.pop(filename, None)
        super().xDelete(filename, syncdir)

    def get_file(self, path: Path) -> DiskFile:
        """Return the disk's state of the file at a path."""
        name = str(path)
        if name not in self.files:
            content = path.read_bytes() if path.exists() else b""
            self.files[name] = DiskFile(bytearray(content))
        return self.files[name]


class _LossyFile(apsw.VFSFile):
    def __init__(self, disk: LossyDisk, name: FileName, flags: list[int]) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._file = None if path is None else disk.get_file(Path(path))
        super().__init__(BASE, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - apsw's name
        if self._disk.broken:
            raise apsw.IOError
        if self._disk.full:
            raise apsw.FullError
        super().xWrite(data, offset)
        if self._file is not None:
            self._file.pending.append((offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - apsw's name
        super().xTruncate(newsize)
        if self._file is not None:
            self._file.sync()
            del self._file.synced[newsize:]

    def xSync(self, flags: int) -> None:  # noqa: N802 - apsw's name
        del flags  # the files are on no disk
        if self._file is not None:
            self._file.sync()
