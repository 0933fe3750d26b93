"""The file of a backup: a compressed tar archive whose last member lists the others.

``home/…`` are the files of the home, ``journal.db`` among them, and ``manifest.json`` has the
SHA-256 of each. An archive without it was cut off.
"""

import gzip
import hashlib
import json
import os
import shutil
import stat
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.backups.home_contents import JOURNAL, HomeEntry, stays_in_home
from orchestrator.home_paths import KEYS
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError

FORMAT = 1
PREFIX = "home/"
MANIFEST = "manifest.json"
IN_MEMORY = 8 << 20  # bytes of a file; larger ones are copied to a temporary file first
CHUNK = 1 << 20  # bytes
LEVEL = 1  # of gzip: a third of the work of the usual 6, for a file that is an eighth larger
PRIVATE = 0o700  # the bits of a mode that may remain: none for others


class BackupDamagedError(OrchestratorError):
    """The file is not a backup, or is incomplete."""


@dataclass
class Manifest:
    """The contents of a backup: ``made`` is a UTC time, ``files`` has SHA-256 digests by file name.

    A folder has an empty digest, a link the digest of its target's path.
    """

    version: str
    made: str
    schema: int | None = None
    keys: bool = False
    format: int = FORMAT
    files: dict[str, str] = field(default_factory=dict)


class _Digesting:
    """A file that is read or written, with the SHA-256 of what has passed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        return data

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


def _find_compressor() -> type[gzip.GzipFile]:
    """Return what compresses; of the same file Intel's library makes a sixth of the work."""
    try:
        from isal.igzip import IGzipFile  # noqa: PLC0415 - of an extra
    except ImportError:
        return gzip.GzipFile
    return IGzipFile


class ArchiveWriter:
    """Writes the members of a backup, the manifest last."""

    def __init__(self, file: IO[bytes], manifest: Manifest, scratch: Path) -> None:
        self._written = _Digesting(file)
        self._gzip = _find_compressor()("", "wb", LEVEL, self._written)
        self._tar = tarfile.open(  # noqa: SIM115 - closed by `finish`
            fileobj=self._gzip, mode="w:", format=tarfile.PAX_FORMAT
        )
        self._manifest = manifest
        self._scratch = scratch

    def add_entry(self, entry: HomeEntry) -> None:
        """Add an entry as it is now; skip one that was deleted meanwhile."""
        member = tarfile.TarInfo(PREFIX + entry.name)
        member.mode, member.mtime = stat.S_IMODE(entry.facts.st_mode), int(entry.facts.st_mtime)
        try:
            if stat.S_ISDIR(entry.facts.st_mode):
                member.type = tarfile.DIRTYPE
                self._put_member(entry.name, member, b"")
            elif stat.S_ISLNK(entry.facts.st_mode):
                member.type, member.linkname = tarfile.SYMTYPE, str(entry.path.readlink())
                self._put_member(entry.name, member, os.fsencode(member.linkname))
            else:
                self._add_file(entry, member)
        except FileNotFoundError:
            return

    def finish(self) -> str:
        """Write the manifest, and return the SHA-256 of the whole archive."""
        text = json.dumps(asdict(self._manifest)).encode()
        member = tarfile.TarInfo(MANIFEST)
        member.mode, member.size = stat.S_IRUSR, len(text)
        self._tar.addfile(member, BytesIO(text))
        self._tar.close()
        self._gzip.close()
        return self._written.digest.hexdigest()

    def _put_member(self, name: str, member: tarfile.TarInfo, digested: bytes) -> None:
        self._tar.addfile(member)
        digest = hashlib.sha256(digested).hexdigest()
        self._manifest.files[name] = "" if member.isdir() else digest

    def _add_file(self, entry: HomeEntry, member: tarfile.TarInfo) -> None:
        """Add a file, by way of a copy: the original may grow, and tar needs the size in advance.

        What is in the scratch folder, such as the journal, is a copy already.
        """
        fd = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as source, ExitStack() as opened:
            copy: IO[bytes] = source
            if entry.path.parent != self._scratch:
                copy = opened.enter_context(
                    tempfile.SpooledTemporaryFile(IN_MEMORY, dir=str(self._scratch))
                )
                shutil.copyfileobj(source, copy, CHUNK)
            member.size = copy.seek(0, os.SEEK_END)
            copy.seek(0)
            read = _Digesting(copy)
            self._tar.addfile(member, read)
        self._manifest.files[entry.name] = read.digest.hexdigest()


def require_written(path: Path, digest: str) -> None:
    """Read a file back from the disk, and require that it has the SHA-256 of what was written.

    Raises:
        OrchestratorError: it has not.
    """
    found = hashlib.sha256()
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # not from memory
        while chunk := file.read(CHUNK):
            found.update(chunk)
    if found.hexdigest() != digest:
        raise OrchestratorError(
            f"{path.parent}: the disk has not kept what was written; use another disk"
        )


def unpack_backup(path: Path, folder: Path | None, home: Path | None = None) -> Manifest:
    """Check every byte of a backup; write its files to ``folder``, an empty one, if given.

    Links are made last, so that nothing is written through one. Those that lead out of ``home``,
    where the folder will be, are left out: the daemon would write through them.

    Raises:
        BackupDamagedError: the file is not a backup, is cut off, was changed, or has a newer
        version.
        OSError: the folder cannot be written.
    """
    found: dict[str, str] = {}
    links: dict[str, str] = {}
    with _open_archive(path) as tar:
        manifest: Manifest | None = None
        for member in tar:
            if member.name == MANIFEST:
                manifest = _parse_manifest(path, tar.extractfile(member))
                continue
            name = _require_safe_name(path, member)
            if name in found:
                raise _make_damage_error(path, f"it contains {name} twice")
            target = None if folder is None else folder / name
            if member.issym():
                links[name] = member.linkname
                found[name] = hashlib.sha256(os.fsencode(member.linkname)).hexdigest()
            elif member.isdir():
                found[name] = ""
                if target is not None:
                    target.mkdir(mode=PRIVATE)
            else:
                found[name] = _extract_member(tar.extractfile(member), target, member.mode)
    if manifest is None:
        raise _make_damage_error(path, "it is cut off or was changed")
    wrong = sorted(name for name, _ in found.items() ^ manifest.files.items())
    if wrong:
        raise _make_damage_error(path, f"the checksum of {wrong[0]} does not match")
    _require_honest_links(path, links, manifest)
    if folder is not None:
        _make_links(folder, links, home)
    return manifest


def _require_honest_links(path: Path, links: Mapping[str, str], manifest: Manifest) -> None:
    """Raise `BackupDamagedError` for a link in place of what a restore itself writes or opens."""
    forged = links.keys() & ({JOURNAL} if manifest.keys else {JOURNAL, *KEYS})
    if forged:
        raise _make_damage_error(path, f"{min(forged)} is a link in it, which no backup has")


def _make_links(folder: Path, links: Mapping[str, str], home: Path | None) -> None:
    for name, leads_to in links.items():
        if home is None or stays_in_home(name, leads_to, home):
            (folder / name).symlink_to(leads_to)


def _extract_member(source: IO[bytes] | None, target: Path | None, mode: int) -> str:
    """Return the digest of a member; write it to ``target``, if given."""
    digest = hashlib.sha256()
    with open(target or os.devnull, "xb" if target else "wb") as file:  # noqa: PTH123 - either
        while source is not None and (chunk := source.read(CHUNK)):
            digest.update(chunk)
            file.write(chunk)
        if target is not None:
            os.fchmod(file.fileno(), mode & PRIVATE | stat.S_IRUSR | stat.S_IWUSR)
            file.flush()
            os.fsync(file.fileno())
    return digest.hexdigest()


def _require_safe_name(path: Path, member: tarfile.TarInfo) -> str:
    """Return a member's path below the home; raise `BackupDamagedError` for any other path."""
    name = member.name.removeprefix(PREFIX)
    parts = name.split("/")
    whole = member.name.startswith(PREFIX) and not {"", ".", ".."} & set(parts)
    if not whole or not (member.isreg() or member.isdir() or member.issym()):
        raise _make_damage_error(path, f"{member.name!r} does not belong in it")
    return name


def _parse_manifest(path: Path, file: IO[bytes] | None) -> Manifest:
    try:
        facts: dict[str, Any] = json.loads(file.read() if file is not None else b"")
        number = int(facts["format"])
        if number <= FORMAT:
            return Manifest(**facts)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _make_damage_error(path, "its list of files cannot be read") from error
    raise BackupDamagedError(
        f"{path}: a newer version of this program wrote this backup (format {number}); use that"
    )


@contextmanager
def _open_archive(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        file = os.fdopen(regular_file.open_regular(path, os.O_RDONLY), "rb")
    except FileError as error:
        raise OrchestratorError(f"{path}: {error}") from error
    try:
        with file, gzip.GzipFile(fileobj=file) as stream:
            with tarfile.open(fileobj=stream, mode="r:") as tar:
                yield tar
            while stream.read(CHUNK):  # up to the checksum, at the very end
                pass
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, UnicodeError) as error:
        raise _make_damage_error(path, "it is not a backup, or is cut off") from error


def _make_damage_error(path: Path, why: str) -> BackupDamagedError:
    return BackupDamagedError(f"{path}: {why}; nothing was changed. Use another backup")
