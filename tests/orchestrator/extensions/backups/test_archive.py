"""The file of a backup: no byte of it may be wrong."""

import json
import sys
import tarfile
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.backups.archive import (
    ArchiveWriter,
    BackupDamagedError,
    Manifest,
    require_written,
    unpack_backup,
)
from orchestrator.extensions.backups.home_contents import list_home_entries


@pytest.fixture(params=["with its extra", "without"])
def backup(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A backup of a small home, compressed by either library."""
    if request.param == "without":
        monkeypatch.setitem(sys.modules, "isal.igzip", None)
    home, path = tmp_path / "home", tmp_path / "backup"
    (home / "skills").mkdir(parents=True)
    (home / "agents.json").write_text("{}")
    (home / "skills" / b"caf\xe9".decode(errors="surrogateescape")).write_bytes(b"x" * 5000)
    (home / "skills" / "link").symlink_to("/nowhere")
    (home / "agents.json").chmod(0o755)
    write(path, home)
    return path


def write(path: Path, home: Path) -> None:
    """Back up a home without a journal."""
    with path.open("wb") as file:
        writer = ArchiveWriter(file, Manifest("1.2.3", "now"), path.parent)
        for entry in list_home_entries(home, keys=True):
            writer.add_entry(entry)
        writer.finish()


def test_what_was_written_is_unpacked(backup: Path, tmp_path: Path) -> None:
    """Bytes, links, folders and names of any bytes; nobody else may read it."""
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    manifest = unpack_backup(backup, fresh)
    assert (manifest.version, manifest.made, manifest.schema) == ("1.2.3", "now", None)
    found = {str(p.relative_to(fresh)) for p in fresh.rglob("*")}
    assert (
        found
        == set(manifest.files)
        == {e.name for e in list_home_entries(tmp_path / "home", keys=True)}
    )
    assert (fresh / "skills" / "link").readlink() == Path("/nowhere")
    assert (fresh / "agents.json").read_text() == "{}"
    assert (fresh / "agents.json").stat().st_mode & 0o777 == 0o700


def test_check_alone_writes_nothing(backup: Path, tmp_path: Path) -> None:
    """It reads every byte."""
    before = set(tmp_path.rglob("*"))
    assert unpack_backup(backup, None).files
    assert set(tmp_path.rglob("*")) == before


def test_backup_that_was_cut_is_refused_wherever_it_was(backup: Path) -> None:
    """It may lack its list or a part of a file."""
    whole = backup.read_bytes()
    for length in range(0, len(whole) - 8, 7):
        backup.write_bytes(whole[:length])
        with pytest.raises(BackupDamagedError):
            unpack_backup(backup, None)


def test_changed_byte_is_found(backup: Path) -> None:
    """Also where the compression does not notice."""
    whole = backup.read_bytes()
    for place in range(20, len(whole) - 20, 11):
        backup.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with pytest.raises(BackupDamagedError):
            unpack_backup(backup, None)


def test_file_that_the_disk_has_not_kept_is_found(backup: Path) -> None:
    """A backup gets its name only if the disk has what was written."""
    whole = backup.read_bytes()
    require_written(backup, sha256(whole).hexdigest())
    backup.write_bytes(whole[:50] + b"?" + whole[51:])
    with pytest.raises(OrchestratorError, match="use another disk"):
        require_written(backup, sha256(whole).hexdigest())


def forged(path: Path, members: list[tuple[str, bytes, bytes]], files: dict[str, str]) -> None:
    """A backup with these members: name, type, content."""
    text = json.dumps({"version": "1", "made": "now", "format": 1, "files": files}).encode()
    with tarfile.open(path, "w:gz") as tar:
        for name, kind, content in [*members, ("manifest.json", tarfile.REGTYPE, text)]:
            member = tarfile.TarInfo(name)
            member.type, member.size = kind, len(content)
            if kind == tarfile.SYMTYPE:
                member.linkname, member.size = "/tmp", 0  # noqa: S108 - nothing is written there
            tar.addfile(member, BytesIO(content))


@pytest.mark.parametrize(
    "member",
    [
        ("home/../outside", tarfile.REGTYPE, b"x"),
        ("/etc/outside", tarfile.REGTYPE, b"x"),
        ("home//etc/outside", tarfile.REGTYPE, b"x"),
        ("home/pipe", tarfile.FIFOTYPE, b""),
        ("home/disk", tarfile.BLKTYPE, b""),
        ("home/added", tarfile.REGTYPE, b"x"),
        ("elsewhere", tarfile.REGTYPE, b"x"),
    ],
)
def test_member_that_no_backup_has_is_refused(
    tmp_path: Path, member: tuple[str, bytes, bytes]
) -> None:
    """Nothing is written outside of the folder."""
    forged(tmp_path / "b", [member], {})
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    with pytest.raises(BackupDamagedError):
        unpack_backup(tmp_path / "b", fresh)
    assert not (tmp_path / "outside").exists()


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """A file below a link has no folder yet when it comes."""
    forged(
        tmp_path / "b",
        [("home/x", tarfile.SYMTYPE, b""), ("home/x/planted", tarfile.REGTYPE, b"x")],
        {},
    )
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    with pytest.raises((BackupDamagedError, FileNotFoundError)):
        unpack_backup(tmp_path / "b", fresh)


def _newer(path: Path) -> None:
    text = json.dumps({"format": 2}).encode()
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo("manifest.json")
        member.size = len(text)
        tar.addfile(member, BytesIO(text))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.write_text("words"), "it is not a backup"),
        (Path.touch, "it is not a backup"),
        (Path.mkdir, "a directory"),
        (lambda _: None, "file not found"),
        (_newer, "a newer version"),
    ],
)
def test_what_is_no_backup_is_told(
    tmp_path: Path, make: Callable[[Path], object], why: str
) -> None:
    """In one sentence."""
    make(tmp_path / "b")
    with pytest.raises(OrchestratorError, match=why):
        unpack_backup(tmp_path / "b", None)
