"""Allow one daemon per home, with a lock on a file."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import AlreadyRunningError, ConfigError
from orchestrator.settings import Settings
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError


def read_pid_namespace() -> str:
    """Return the namespace of this process's pid, such as ``pid:[4026531836]``."""
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - the link leads to no path
    except OSError:  # no /proc
        return ""


@contextmanager
def hold_lock(settings: Settings) -> Iterator[None]:
    """Hold the home's lock, with this process's pid and the namespace of that pid in its file.

    The kernel releases it however the process ends.
    """
    path = settings.paths.lock
    try:
        fd = regular_file.open_regular(path, os.O_RDWR | os.O_CREAT)
    except FileError as error:
        raise ConfigError(f"{path}: {error}") from error
    with os.fdopen(fd):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise AlreadyRunningError(
                f"another daemon runs on {settings.home}; stop it or set ORCHESTRATOR_HOME"
            ) from error
        os.truncate(fd, 0)
        os.write(fd, f"{os.getpid()} {read_pid_namespace()}\n".encode())
        yield
