"""Decide when a worker may start again: states, back-off and quarantine.

Times and jitter are parameters. Five unclean exits within five minutes quarantine one agent,
which is then probed every 15 minutes.

Where: is it decided when a crashed worker starts again?
"""

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

PERIOD = 300.0  # seconds in which unclean exits are counted
INTENSITY = 5  # unclean exits in a period that quarantine the agent
CAP = 60.0  # seconds of back-off at most
HEALTHY = 600.0  # seconds of running after which a probe has passed
PROBE = 900.0  # seconds between two probes of a quarantined agent
EXIT_CONFIG = 78  # EX_CONFIG (sysexits.h): a retry needs a changed configuration
OOM_WEIGHT = 2  # unclean exits for which an out-of-memory kill counts


class WorkerState(StrEnum):
    """The state of an agent's worker."""

    STOPPED = "stopped"
    STARTING = "starting"
    RUNNING = "running"
    BACKOFF = "backoff"
    STOPPING = "stopping"
    QUARANTINED = "quarantined"
    FATAL = "fatal"


class ExitKind(StrEnum):
    """How a worker's process ended."""

    CLEAN = "clean"  # exit 0, or ended on request
    CONFIG = "config"
    CRASH = "crash"
    HANG = "hang"
    OOM = "oom"

    @property
    def log_level(self) -> int:
        """The log level of the event."""
        return logging.DEBUG if self is ExitKind.CLEAN else logging.WARNING


@dataclass(frozen=True)
class History:
    """The state and past failures of an agent's worker; times in seconds of a monotonic clock."""

    state: WorkerState = WorkerState.STOPPED
    failures: tuple[float, ...] = ()
    started: float = 0.0
    retry_at: float = 0.0
    restarts: int = 0
    reason: str = ""
    probing: bool = False  # started from quarantine and not healthy yet


def classify_exit(code: int, *, stop_requested: bool, hung: bool, oom: bool) -> ExitKind:
    """Classify how a process ended; ``code`` is its exit status, or the negative signal."""
    if stop_requested:
        return ExitKind.CLEAN
    if hung:
        return ExitKind.HANG
    if oom:
        return ExitKind.OOM
    if code == EXIT_CONFIG:
        return ExitKind.CONFIG
    return ExitKind.CLEAN if code == 0 else ExitKind.CRASH


def record_start(history: History, now: float) -> History:
    probing = history.state is WorkerState.QUARANTINED
    return replace(history, state=WorkerState.STARTING, started=now, probing=probing)


def record_ready(history: History) -> History:
    return replace(history, state=WorkerState.RUNNING)


def record_stopping(history: History) -> History:
    return replace(history, state=WorkerState.STOPPING)


def record_exit(
    history: History, kind: ExitKind, reason: str, now: float, jitter: float, probe: float = PROBE
) -> History:
    """Record the end of the process; ``jitter`` is uniform in 0.5 … 1.5.

    The first failure in a period restarts immediately, so that a single crash delays no answer. The
    next ones wait 1, 2, 4 … 60 seconds. A failed probe returns to quarantine, for ``probe``
    seconds.
    """
    if kind is ExitKind.CLEAN:
        return replace(history, state=WorkerState.STOPPED, reason="")
    if kind is ExitKind.CONFIG:
        return replace(history, state=WorkerState.FATAL, reason=reason)
    weight = OOM_WEIGHT if kind is ExitKind.OOM else 1
    failures = (*(at for at in history.failures if now - at < PERIOD), *((now,) * weight))
    probe_failed = history.probing and now - history.started < HEALTHY
    quarantined = len(failures) >= INTENSITY or probe_failed
    return replace(
        history,
        state=WorkerState.QUARANTINED if quarantined else WorkerState.BACKOFF,
        failures=failures,
        retry_at=now + (probe if quarantined else compute_backoff(len(failures)) * jitter),
        restarts=history.restarts + 1,
        reason=reason,
    )


def compute_backoff(failures: int) -> float:
    """Return the seconds to wait after this many recent failures, without jitter."""
    return 0.0 if failures <= 1 else min(CAP, 2.0 ** (failures - 2))


def draw_jitter(chance: Callable[[], float] = random.random) -> float:
    """Return a factor in [0.5, 1.5) for `compute_backoff`, so that starts are spread."""
    return 0.5 + chance()


def forget_failures(history: History) -> History:
    """Forget all failures, after an operator's command or a changed configuration."""
    held = history.state in (WorkerState.BACKOFF, WorkerState.QUARANTINED, WorkerState.FATAL)
    return replace(
        history,
        state=WorkerState.STOPPED if held else history.state,
        failures=(),
        retry_at=0.0,
        reason="",
        probing=False,
    )


def find_start_delay(history: History, now: float) -> float | None:
    """Return the seconds until a start is allowed; None until an operator or a change allows it."""
    if history.state is WorkerState.FATAL:
        return None
    if history.state in (WorkerState.BACKOFF, WorkerState.QUARANTINED):
        return max(0.0, history.retry_at - now)
    return 0.0
