"""Allow one daemon per home, with a lock on a file."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import AlreadyRunningError, ConfigError
from orchestrator.settings import Settings
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError


@contextmanager
def hold_lock(settings: Settings) -> Iterator[None]:
    """Hold the home's lock, with this process's pid in its file.

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
        os.write(fd, f"{os.getpid()}\n".encode())
        yield
