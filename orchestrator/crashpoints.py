"""Where the daemon can be made to die, for `orchestrator selftest crash`.

Every transaction of the journal and every call to the outside world passes a boundary before and
after it. With ``ORCHESTRATOR_CRASH_AT=n`` the process kills itself (or, with
``ORCHESTRATOR_CRASH_VICTIM=worker``, its workers) with SIGKILL at the n-th boundary that it
reaches. ``ORCHESTRATOR_CRASH_LOG`` names a file to which each boundary reached is appended, so that
the test can show that none was missed. Without these variables a boundary costs one comparison.
"""

import os
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path


class Crasher:
    """Counts boundaries and kills at the one asked for."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        at = environ.get("ORCHESTRATOR_CRASH_AT", "")
        self._at = int(at) if at.isdigit() else 0
        self._victim = environ.get("ORCHESTRATOR_CRASH_VICTIM", "supervisor")
        log = environ.get("ORCHESTRATOR_CRASH_LOG")
        self._log = Path(log) if log else None
        self._count = 0
        self._lock = threading.Lock()
        self.workers: Callable[[], list[int]] = list

    @property
    def armed(self) -> bool:
        """Whether boundaries are counted at all."""
        return self._at > 0 or self._log is not None

    def reach(self, name: str) -> None:
        """Pass a boundary; called from the event loop and from the journal's thread."""
        with self._lock:
            self._count += 1
            hit = self._count == self._at
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as file:
                    file.write(f"{self._count} {name}{' KILL' if hit else ''}\n")
        if hit and self._victim == "worker":
            for pid in self.workers():
                os.kill(pid, signal.SIGKILL)
        elif hit:
            os.kill(os.getpid(), signal.SIGKILL)


_crasher = Crasher(os.environ)
ARMED = _crasher.armed


def boundary(name: str) -> None:
    """Pass a boundary."""
    if ARMED:
        _crasher.reach(name)


def watch_workers(pids: Callable[[], list[int]]) -> None:
    """Say which processes are the workers."""
    _crasher.workers = pids
