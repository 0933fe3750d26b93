"""Decide about due instants that are late, overlap a run, or follow failures.

Where: is a missed schedule made up for or skipped?
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

GRACE = 60_000  # milliseconds that an instant may be late without counting as missed
BACKOFF = (1, 5, 15, 60)  # minutes of pause after the first, second … failure in a row
MAX_FAILURES = 5  # failures in a row after which a task is disabled
Policy: TypeAlias = Literal["skip", "latest", "all"]


class Misfire(NamedTuple):
    """How to treat missed instants: run none, the newest, or the newest ``limit``.

    Instants older than ``window`` milliseconds never run.
    """

    policy: Policy
    limit: int
    window: int


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
