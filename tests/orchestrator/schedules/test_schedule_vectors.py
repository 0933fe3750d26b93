"""The areas of schedules, through the product's functions; deviations.md has the rules."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from vector_cases import cases

from orchestrator.schedules.normalise import normalise
from orchestrator.schedules.text import human
from orchestrator.schedules.times import (
    MINUTE,
    Cron,
    Once,
    ScheduleError,
    check_cron,
    first,
    following,
    parse,
)

NORMALISED_AT = "2026-02-14T15:00:00Z"
WEEKDAYS = {"9:00 AM Mon": "9:00 AM Mon-Fri"}  # the reference names only the first day of a range


def ms(text: str) -> int:
    """An ISO time in milliseconds."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def cron_due(given: dict[str, Any]) -> bool:
    """Whether an instant of this minute came after the last run, as the reference's tick asks."""
    now, last = ms(given["now"]), given["last_run_at"]
    after = max(now - now % MINUTE - 1, ms(last) if last else 0)
    at = following(Cron(given["schedule"]), ZoneInfo(given.get("timezone") or "UTC"), after)
    return at is not None and at <= now


@pytest.mark.parametrize(("name", "given", "expected"), cases("cron_validation"))
def test_cron_expression_is_judged_as_expected(
    name: str, given: str, expected: dict[str, Any]
) -> None:
    """The reason is in our own words."""
    del name
    if expected["valid"]:
        check_cron(given)
        return
    with pytest.raises(ScheduleError, match="Invalid cron expression"):
        check_cron(given)


@pytest.mark.parametrize(("name", "given", "expected"), cases("cron_due"))
def test_cron_is_due_when_expected(name: str, given: dict[str, Any], *, expected: bool) -> None:
    """In its own time zone."""
    del name
    assert cron_due(given) is expected


@pytest.mark.parametrize(("name", "given", "expected"), cases("schedule_due"))
def test_schedule_is_due_when_expected(name: str, given: dict[str, Any], *, expected: bool) -> None:
    """A new trigger at its first instant, one that has run at the following one."""
    del name
    config, now, last = given["trigger_config"], ms(given["now"]), given["last_run_at"]
    zone = ZoneInfo(config.get("timezone") or "UTC")
    try:
        trigger = parse(config, zone)
    except ScheduleError:
        assert not expected
        return
    if isinstance(trigger, Cron):
        assert cron_due({**given, **config}) is expected
        return
    at = first(trigger, zone, now) if last is None else following(trigger, zone, ms(last))
    assert (at is not None and at <= now) is expected


@pytest.mark.parametrize(("name", "given", "expected"), cases("skill_normalizer"))
def test_task_is_normalised_as_expected(
    name: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    """The reference's agent is the default here."""
    del name
    assert normalise(given, ms(NORMALISED_AT), "thinker") == expected


@pytest.mark.parametrize(("name", "given", "expected"), cases("human_schedule"))
def test_schedule_reads_as_expected(name: str, given: dict[str, Any], expected: str) -> None:
    """A range of days is named whole."""
    del name
    ranged = "-" in given["schedule"].split()[-1]
    wanted = WEEKDAYS.get(expected, expected) if ranged else expected
    assert human(given["schedule"], given["timezone"]) == wanted


def test_once_is_due_at_its_instant() -> None:
    """And never again."""
    zone = ZoneInfo("UTC")
    now = round(datetime(2026, 2, 14, tzinfo=UTC).timestamp() * 1000)
    assert first(Once(now), zone, now + 1) == now
    assert following(Once(now), zone, now - 1) is None
