"""Allow one daemon per home, by a lock on a file."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import AlreadyRunningError
from orchestrator.settings import Settings


@contextmanager
def locked(settings: Settings) -> Iterator[None]:
    """Hold the home's lock; the kernel releases it however the process ends."""
    with settings.paths.lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise AlreadyRunningError(
                f"another daemon runs on {settings.home}; stop it or set ORCHESTRATOR_HOME"
            ) from error
        yield
