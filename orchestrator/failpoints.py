"""Where the daemon can be made to die, for `orchestrator selftest crash`.

Every transaction of the journal and every call to the outside world passes a boundary before and
after it. ``ORCHESTRATOR_CRASH_AT`` is a list such as ``supervisor@plan:before#2,worker@…``: at the
second time that the boundary ``plan:before`` is reached, the process kills itself (or all its
workers) with SIGKILL. ``ORCHESTRATOR_CRASH_LOG`` names a file to which each boundary reached is
appended with the number of living workers, and with the processes that were killed there, so that
the test can show that none was missed. Without these variables a boundary costs one comparison.
"""

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

SUPERVISOR = "supervisor"
WORKER = "worker"


class FailpointInjector:
    """Counts boundaries by name and kills at those asked for."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        points = environ.get("ORCHESTRATOR_CRASH_AT", "").split(",")
        self._victims = {place: who for who, _, place in (p.partition("@") for p in points)}
        log = environ.get("ORCHESTRATOR_CRASH_LOG")
        self._log = Path(log) if log else None
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.workers: Callable[[], list[int]] = list

    @property
    def armed(self) -> bool:
        """Whether boundaries are counted at all."""
        return self._log is not None

    def reach(self, name: str) -> None:
        """Pass a boundary; called from the event loop and from the journal's thread."""
        with self._lock:
            self._counts[name] += 1
            place = f"{name}#{self._counts[name]}"
            workers = self.workers()
            victim = self._victims.get(place)
            own = [os.getpid()] if victim not in {None, WORKER} else []
            killed = [pid for pid in workers if _kill(pid)] if victim == WORKER else own
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as file:
                    file.write(" ".join([place, str(len(workers)), *map(str, killed)]) + "\n")
            for pid in own:
                _kill(pid)


def _kill(pid: int) -> bool:
    """Whether there was still a process to kill: a worker may just have ended."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


_crasher = FailpointInjector(os.environ)
ARMED = _crasher.armed


def failpoint(name: str) -> None:
    """Pass a boundary."""
    if ARMED:
        _crasher.reach(name)


def watch_workers(pids: Callable[[], list[int]]) -> None:
    """Say which processes are the workers."""
    _crasher.workers = pids
