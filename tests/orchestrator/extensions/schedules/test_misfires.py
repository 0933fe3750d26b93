"""Instants that come late, overlap a run, or follow a failure."""

from zoneinfo import ZoneInfo

import pytest

from orchestrator.extensions.schedules.misfires import (
    GRACE,
    MAX_LISTED,
    decide_instants,
    list_due_instants,
)
from orchestrator.schedules.specs import Misfire, Policy
from orchestrator.schedules.times import Cron, Interval, Once

HOUR, WEEK = 3_600_000, 7 * 86_400_000
NOW = 1_770_000_000_000
THREE = [NOW - 3 * HOUR, NOW - 2 * HOUR, NOW - HOUR]


def states(
    instants: list[int],
    policy: Policy,
    limit: int = 2,
    *,
    not_before: int = 0,
    unfinished: int = 0,
    window: int = WEEK,
) -> list[str]:
    """Return the state of each instant."""
    misfire = Misfire(policy, limit, window)
    verdicts = decide_instants(instants, misfire, NOW, not_before=not_before, unfinished=unfinished)
    assert [verdict.at for verdict in verdicts] == instants
    return [verdict.state for verdict in verdicts]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("skip", ["skipped", "skipped", "skipped"]),
        ("latest", ["missed", "missed", "due"]),
        ("all", ["missed", "due", "due"]),
    ],
)
def test_missed_instants_run_as_the_policy_says(policy: Policy, expected: list[str]) -> None:
    """None, the newest, or the newest few."""
    assert states(THREE, policy) == expected


@pytest.mark.parametrize("policy", ["skip", "latest", "all"])
def test_instant_on_time_runs_under_every_policy(policy: Policy) -> None:
    """A little late is on time."""
    assert states([NOW - GRACE], policy) == ["due"]
    assert states([*THREE, NOW], policy)[-1] == "due"


def test_instant_outside_the_window_never_runs() -> None:
    """Last month's reminder is of no use."""
    assert states(THREE, "all", 3, window=2 * HOUR) == ["missed", "due", "due"]
    assert states([NOW - WEEK - 1], "latest") == ["missed"]


def test_task_that_still_runs_is_not_started_again() -> None:
    """Under "all" it may be waited for."""
    assert states([NOW], "latest", unfinished=1) == ["skipped"]
    assert states([NOW], "skip", unfinished=1) == ["skipped"]
    assert states(THREE, "all", 3, unfinished=1) == ["skipped", "due", "due"]


def test_task_that_failed_waits() -> None:
    """The instants of that time are skipped, those after it run."""
    assert states([NOW], "latest", not_before=NOW + 1) == ["skipped"]
    assert states(THREE, "all", 3, not_before=NOW - 2 * HOUR) == ["skipped", "due", "due"]


def test_instants_that_have_passed_are_listed_oldest_first() -> None:
    """All of a short time; of a long one the newest, and at once."""
    due, now = 1_769_936_400_000, 1_770_199_200_000  # 2026-02-01 09:00, 02-04 10:00
    daily = [due + n * 86_400_000 for n in range(4)]
    zone = ZoneInfo("UTC")
    assert list_due_instants(Cron("0 9 * * *"), zone, due, now) == daily
    assert list_due_instants(Interval(1440), zone, due, now) == daily
    assert list_due_instants(Once(due), zone, due, now) == [due]
    newest = [now - n * 60_000 for n in reversed(range(MAX_LISTED))]
    for trigger in (Cron("* * * * *"), Interval(1)):
        assert list_due_instants(trigger, zone, due - 3000 * 86_400_000, now) == newest
        assert list_due_instants(trigger, zone, now, now) == [now]
