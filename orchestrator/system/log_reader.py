"""Read the log of a home's daemon: from its file, or from systemd's journal.

Everywhere a line is what the daemon wrote, with its end.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from orchestrator.errors import OrchestratorError
from orchestrator.settings import Settings
from orchestrator.system import home_daemon
from orchestrator.system.home_daemon import Unit
from orchestrator.system.installed_units import UNIT, Scope
from orchestrator.system.log_file import older
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileMissingError

PAUSE = 0.2  # seconds between two looks for new lines
MOST = 50_000  # lines of systemd's journal that are looked through


class LogSource(Protocol):
    """Where the lines of a daemon are."""

    def kept(self) -> Iterator[bytes]:
        """Yield the lines there are, the oldest first."""

    def coming(self) -> Iterator[bytes]:
        """Yield lines as they come, without an end; first those since the end of `kept`."""


def log_of(settings: Settings) -> LogSource:
    """Return where the daemon of this home logs, or last did.

    Raises:
        OrchestratorError: nothing was logged yet.
    """
    unit: Unit | None = None
    with suppress(OrchestratorError):  # no daemon runs, or it starts
        unit = home_daemon.unit_of(home_daemon.daemon_pid(settings))
    path = settings.paths.log
    if unit is None and not os.path.lexists(path):
        unit = _installed(settings)
    if unit is not None:
        return _JournalLog(unit)
    if not os.path.lexists(path):
        raise OrchestratorError(
            f"nothing was logged on {settings.home} yet; start the daemon with 'orchestrator run'"
        )
    return FileLog(path)


@dataclass
class FileLog:
    """The file of a home. ``pause`` is called between two looks for new lines."""

    path: Path
    pause: Callable[[], None] = lambda: time.sleep(PAUSE)

    def __post_init__(self) -> None:
        self._end = 0  # of what was read
        self._inode = 0

    def kept(self) -> Iterator[bytes]:
        with suppress(FileMissingError):
            yield from self._lines(older(self.path))
        with suppress(FileMissingError):  # between two files
            yield from self._lines(self.path)

    def coming(self) -> Iterator[bytes]:
        while True:
            with suppress(FileMissingError):
                if self._rotated():
                    if os.path.lexists(older(self.path)):
                        yield from self._lines(older(self.path), self._end)
                    self._end = 0
                yield from self._lines(self.path, self._end)
            self.pause()

    def _rotated(self) -> bool:
        try:
            return self._inode not in (0, self.path.stat().st_ino)
        except FileNotFoundError:
            return False

    def _lines(self, path: Path, start: int = 0) -> Iterator[bytes]:
        """Yield whole lines from this byte on, and note where they end."""
        try:
            with os.fdopen(regular_file.open_regular(path, os.O_RDONLY), "rb") as file:
                self._inode, self._end = os.fstat(file.fileno()).st_ino, start
                file.seek(start)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._end += len(line)
                    yield line
        except FileMissingError:
            raise
        except FileError as error:
            raise OrchestratorError(f"{path}: {error}") from error


@dataclass(frozen=True)
class _JournalLog:
    unit: Unit

    def kept(self) -> Iterator[bytes]:
        return self._read("-n", str(MOST))

    def coming(self) -> Iterator[bytes]:
        return self._read("-n", "0", "-f")

    def _read(self, *options: str) -> Iterator[bytes]:
        unit = self.unit
        command = ("journalctl", *unit.manager, "-u", unit.name, "-o", "cat", *options)
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
        except OSError as error:
            raise OrchestratorError(
                f"the log of {unit.name} is in systemd's journal, and journalctl cannot be run"
                f" ({error.strerror})"
            ) from error
        with process:
            try:
                yield from process.stdout or ()
            finally:
                process.terminate()


def _installed(settings: Settings) -> Unit | None:
    """Return the service that was installed for this home, if there is one."""
    places: tuple[tuple[Scope, Path, Path], ...] = (
        ("user", Path.home() / ".orchestrator", Path.home() / ".config/systemd/user"),
        ("system", Path("/var/lib/orchestrator"), Path("/etc/systemd/system")),
    )
    for scope, home, folder in places:
        if settings.home == home and (folder / UNIT).exists():
            return Unit(UNIT, scope, restarts=True)
    return None
