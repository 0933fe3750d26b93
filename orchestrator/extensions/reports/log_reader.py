"""Read a home's daemon log, from its file or from systemd's journal.

A line is always as the daemon wrote it, with its line end.
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
from orchestrator.extensions.reports.log_relay import find_older_file
from orchestrator.settings import Settings
from orchestrator.system import home_daemon
from orchestrator.system.home_daemon import Unit
from orchestrator.system.installed_units import UNIT, Scope
from thinker.formats import regular_file
from thinker.formats.regular_file import FileError, FileMissingError

PAUSE = 0.2  # seconds between two looks for new lines
MAX_JOURNAL_LINES = 50_000  # lines of systemd's journal that are searched


class LogSource(Protocol):
    """The source of a daemon's log lines."""

    def iter_kept_lines(self) -> Iterator[bytes]:
        """Yield the stored lines, oldest first."""

    def follow_lines(self) -> Iterator[bytes]:
        """Yield new lines forever, starting after the last one of `iter_kept_lines`."""


def find_log(settings: Settings) -> LogSource:
    """Return the place to which this home's daemon logs or last logged.

    Raises:
        OrchestratorError: nothing was logged yet.
    """
    unit: Unit | None = None
    with suppress(OrchestratorError):  # no daemon runs, or it starts
        unit = home_daemon.find_unit(home_daemon.find_daemon_pid(settings))
    path = settings.paths.log
    if unit is None and not os.path.lexists(path):
        unit = _find_installed_unit(settings)
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

    def iter_kept_lines(self) -> Iterator[bytes]:
        with suppress(FileMissingError):
            yield from self._iter_lines(find_older_file(self.path))
        with suppress(FileMissingError):  # between two files
            yield from self._iter_lines(self.path)

    def follow_lines(self) -> Iterator[bytes]:
        while True:
            with suppress(FileMissingError):
                if self._is_rotated():
                    if os.path.lexists(find_older_file(self.path)):
                        yield from self._iter_lines(find_older_file(self.path), self._end)
                    self._end = 0
                yield from self._iter_lines(self.path, self._end)
            self.pause()

    def _is_rotated(self) -> bool:
        try:
            return self._inode not in (0, self.path.stat().st_ino)
        except FileNotFoundError:
            return False

    def _iter_lines(self, path: Path, start: int = 0) -> Iterator[bytes]:
        """Yield whole lines from this offset on, and note where they end."""
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

    def iter_kept_lines(self) -> Iterator[bytes]:
        return self._iter_output("-n", str(MAX_JOURNAL_LINES))

    def follow_lines(self) -> Iterator[bytes]:
        return self._iter_output("-n", "0", "-f")

    def _iter_output(self, *options: str) -> Iterator[bytes]:
        unit = self.unit
        command = ("journalctl", *unit.manager_option, "-u", unit.name, "-o", "cat", *options)
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


def _find_installed_unit(settings: Settings) -> Unit | None:
    """Return the service installed for this home, if there is one."""
    places: tuple[tuple[Scope, Path, Path], ...] = (
        ("user", Path.home() / ".orchestrator", Path.home() / ".config/systemd/user"),
        ("system", Path("/var/lib/orchestrator"), Path("/etc/systemd/system")),
    )
    for scope, home, folder in places:
        if settings.home == home and (folder / UNIT).exists():
            return Unit(UNIT, scope, restarts=True)
    return None
