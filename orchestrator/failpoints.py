"""Failpoints: places where `orchestrator selftest crash` can kill the daemon or its children.

Every transaction of the journal and every call to the outside world has a failpoint before and
after it. ``ORCHESTRATOR_CRASH_AT`` is a list such as ``supervisor@plan:before#2,worker@…``: the
second time that ``plan:before`` is reached, the process kills itself (or all its workers, or its
broker) with SIGKILL; ``session@…`` closes its sessions at the journal's server.
``ORCHESTRATOR_CRASH_LOG`` is a file to which each failpoint appends its name, the number of living
workers and the ids of the killed processes, so that the test can show that none was missed.
Without these variables a failpoint costs one comparison.
"""

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

SUPERVISOR = "supervisor"
WORKER = "worker"
BROKER = "broker"
SESSION = "session"  # of the server that has the journal


class FailpointObserver(Protocol):
    """Observes each failpoint while it is ``armed``."""

    @property
    def armed(self) -> bool:
        """Whether failpoints are observed."""

    def reach(self, name: str) -> None:
        """Pass a failpoint."""

    def watch(self, victim: str, pids: Callable[[], list[int]]) -> None:
        """Register a function that returns the ids of running processes of a kind.

        For `SESSION` the function has already closed the sessions, which the server owns.
        """


class FailpointInjector:
    """Counts failpoints by name and kills at those that the environment names."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        points = environ.get("ORCHESTRATOR_CRASH_AT", "").split(",")
        self._victims = {place: victim for victim, _, place in (p.partition("@") for p in points)}
        log = environ.get("ORCHESTRATOR_CRASH_LOG")
        self.log = Path(log) if log else None
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.armed = self.log is not None
        self._pids: dict[str, Callable[[], list[int]]] = {WORKER: list, BROKER: list}

    def watch(self, victim: str, pids: Callable[[], list[int]]) -> None:
        self._pids[victim] = pids

    def reach(self, name: str) -> None:
        """Pass a failpoint; called from the event loop and from the journal's thread."""
        with self._lock:
            self._counts[name] += 1
            place = f"{name}#{self._counts[name]}"
            workers = self._pids[WORKER]()
            victim = self._victims.get(place)
            this_process = [os.getpid()] if victim == SUPERVISOR else []
            others = self._pids[victim]() if victim in self._pids else []
            killed = this_process + [
                pid for pid in others if victim == SESSION or _kill_process(pid)
            ]
            if self.log is not None:
                with self.log.open("a", encoding="utf-8") as file:
                    file.write(" ".join([place, str(len(workers)), *map(str, killed)]) + "\n")
            for pid in this_process:
                _kill_process(pid)


def _kill_process(pid: int) -> bool:
    """Kill a process; return False if it had ended already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


class _Points:
    """The observer of this process's failpoints."""

    observer: FailpointObserver = FailpointInjector(os.environ)


POINTS = _Points()


def set_observer(observer: FailpointObserver) -> None:
    """Replace the current observer."""
    POINTS.observer = observer


def failpoint(name: str) -> None:
    """Pass the failpoint ``name``, where a self-test may kill this process."""
    if POINTS.observer.armed:
        POINTS.observer.reach(name)


def watch_processes(victim: str, pids: Callable[[], list[int]]) -> None:
    POINTS.observer.watch(victim, pids)
