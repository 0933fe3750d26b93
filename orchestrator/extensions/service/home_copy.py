"""Copy user-written files from one home into another, which may be another user's."""

import filecmp
import os
import pwd
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.errors import ConfigError
from orchestrator.home_paths import BY_PEOPLE

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def require_home(source: Path, target: Path) -> None:
    """Require that there is something to copy.

    Raises:
        ConfigError: ``source`` is not a home with an agents.json, or is the target.
    """
    if not os.path.lexists(source / "agents.json"):
        raise ConfigError(f"--from: {source} has no agents.json; give a home that has one")
    if source.resolve() == target.resolve():
        raise ConfigError(f"--from: {source} is the service's home already; leave the option out")


def copy_home(source: Path, target: Path, account: str) -> Iterator[str]:
    """Copy files into a home of ``account``; yield what was not copied.

    Existing files are kept. Links are not followed: as root this would hand any file to the
    account.
    """
    for name in BY_PEOPLE:
        for path in _iter_files(source / name):
            written = target / path.relative_to(source)
            if path.is_symlink() or _is_foreign_link(path, source):
                yield f"skipped  {path}, which is a link; copy what it points to by hand"
            elif not _copy_file(path, written, account):
                yield f"kept     {written}, which differs from {path}"


def _is_foreign_link(path: Path, source: Path) -> bool:
    """Return whether a file of another user has a second name in the home."""
    facts = path.lstat()
    return facts.st_nlink > 1 and facts.st_uid != source.stat().st_uid


def _iter_files(path: Path) -> Iterator[Path]:
    """Yield the files and links at or below a path, in order."""
    if path.is_dir() and not path.is_symlink():
        for folder, folders, names in os.walk(path):
            folders.sort()
            links = [name for name in folders if Path(folder, name).is_symlink()]
            yield from (Path(folder, name) for name in sorted([*names, *links]))
    elif os.path.lexists(path):
        yield path


def _copy_file(path: Path, target: Path, account: str) -> bool:
    """Copy one file; return False if the target is another one."""
    with os.fdopen(os.open(path, READ), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise ConfigError(f"{path} is not a regular file; move it away")
        with act_as_user(account):
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                fd = os.open(target, WRITE, 0o600 | mode & 0o100)
            except FileExistsError:
                pass
            else:
                with os.fdopen(fd, "wb") as fresh:
                    shutil.copyfileobj(file, fresh)
                return True
    return filecmp.cmp(path, target, shallow=False)


@contextmanager
def act_as_user(account: str) -> Iterator[None]:
    """Run the block's file operations with another user's rights."""
    person = pwd.getpwnam(account)
    before = (os.geteuid(), os.getegid())
    if person.pw_uid == before[0]:
        yield
        return
    os.setegid(person.pw_gid)
    os.seteuid(person.pw_uid)
    try:
        yield
    finally:
        os.seteuid(before[0])
        os.setegid(before[1])
