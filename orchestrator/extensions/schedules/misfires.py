"""Decide about due instants that are late, overlap a run, or follow failures.

Where: is a missed schedule made up for or skipped?
"""

from collections import deque
from collections.abc import Sequence
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from orchestrator.schedules.specs import Misfire
from orchestrator.schedules.times import (
    HOUR,
    MINUTE,
    Interval,
    Once,
    Trigger,
    find_next_due,
)

GRACE = 60_000  # milliseconds that an instant may be late without counting as missed
BACKOFF = (1, 5, 15, 60)  # minutes of pause after the first, second … failure in a row
MAX_LISTED = 100  # instants of one downtime that are recorded individually
MAX_FAILURES = 5  # failures in a row after which a task is disabled


class MisfireDecision(NamedTuple):
    """The decision about one instant (``due``, ``missed`` or ``skipped``) and the reason."""

    at: int
    state: Literal["due", "missed", "skipped"]
    note: str | None = None


def decide_instants(
    instants: Sequence[int], misfire: Misfire, now: int, *, not_before: int, unfinished: int
) -> list[MisfireDecision]:
    """Decide about all instants up to now, oldest first.

    ``not_before`` is when a task that failed may run again; ``unfinished`` is the number of its
    runs that have not ended.
    """
    able = [at for at in instants if at >= not_before and now - at <= misfire.window]
    limit = misfire.limit if misfire.policy == "all" else int(misfire.policy == "latest")
    if instants and now - instants[-1] <= GRACE:
        limit = max(limit, 1)
    room = max(0, limit - unfinished)
    running = set(able[-room:]) if room else set()
    return [_decide_instant(at, running, misfire, not_before, busy=limit > room) for at in instants]


def _decide_instant(
    at: int, running: set[int], misfire: Misfire, not_before: int, *, busy: bool
) -> MisfireDecision:
    if at in running:
        return MisfireDecision(at, "due")
    if at < not_before:
        return MisfireDecision(at, "skipped", "backing off after a failure")
    if busy:
        return MisfireDecision(at, "skipped", "the previous run has not ended")
    if misfire.policy == "skip":
        return MisfireDecision(at, "skipped", "missed; the task's policy is to skip")
    return MisfireDecision(at, "missed", "the daemon was not running")


def list_due_instants(trigger: Trigger, zone: ZoneInfo, due: int, now: int) -> list[int]:
    """Return the due instants from ``due`` to ``now``, oldest first; the newest `MAX_LISTED`."""
    if isinstance(trigger, Once):
        return [due]
    if isinstance(trigger, Interval):
        step = trigger.minutes * MINUTE
        skipped = max(0, (now - due) // step - MAX_LISTED + 1)
        return list(range(due + skipped * step, now + 1, step))
    span = HOUR
    while True:  # search a growing span before now, so that a year of minutes is not enumerated
        start = max(due, now - span)
        found = deque([due] if start == due else [], maxlen=MAX_LISTED)
        at = find_next_due(trigger, zone, start)
        while at is not None and at <= now:
            found.append(at)
            at = find_next_due(trigger, zone, at)
        if start == due or len(found) == MAX_LISTED:
            return list(found)
        span *= 8  # a few rounds reach any time
