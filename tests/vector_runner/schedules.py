"""The areas of schedules."""

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from vector_runner.cases import Area, Case, ms

from orchestrator.extensions.schedules.normalize import normalize_fields
from orchestrator.schedules import times
from orchestrator.schedules.describe import describe_schedule
from orchestrator.schedules.specs import TaskSpec
from orchestrator.schedules.task_fields import LISTS

NORMALISED_AT = "2026-02-14T15:00:00Z"  # what the vectors call now
REFERENCE_AGENT = "thinker"


def _validity(given: str) -> dict[str, Any]:
    try:
        times.check_cron(given)
    except times.ScheduleError as error:
        return {"valid": False, "error": str(error)}
    return {"valid": True}


def _same_validity(expected: dict[str, Any], got: dict[str, Any]) -> bool:
    """Compare verdicts; the reason of a refusal must say what would work."""
    return bool(expected["valid"] == got["valid"])


def _cron_due(given: dict[str, Any]) -> bool:
    """Return whether a time in this minute is after the last run, like the reference."""
    now, last = ms(given["now"]), given.get("last_run_at")
    after = max(now - now % times.MINUTE - 1, ms(last) if last else 0)
    try:
        zone = _zone(given)
        times.check_cron(given["schedule"])
        at = times.find_next_due(times.Cron(given["schedule"]), zone, after)
    except times.ScheduleError:
        return False
    return at is not None and at <= now


def _due(given: dict[str, Any]) -> bool:
    """Return whether a trigger is due: a new one at its first time, others at the next."""
    now, last = ms(given["now"]), given.get("last_run_at")
    fields = normalize_fields({"trigger_config": given["trigger_config"]}, now, REFERENCE_AGENT)
    config = fields["trigger_config"]
    assert isinstance(config, dict)
    try:
        zone = _zone(config)
        trigger = times.parse_trigger(config, zone)
    except times.ScheduleError:
        return False
    if isinstance(trigger, times.Cron):
        return _cron_due({**given, **config})
    at = (
        times.find_first_due(trigger, zone, now)
        if not last
        else times.find_next_due(trigger, zone, ms(last))
    )
    return at is not None and at <= now


def _zone(fields: Mapping[str, Any]) -> ZoneInfo:
    zone = fields.get("timezone") or "UTC"
    return TaskSpec(name="task", instructions="do", trigger={}, timezone=zone).zone


def _names_range(case: Case, got: str) -> bool:
    """The reference shows only the first day of a range."""
    days, _, city = got.partition(" (")
    return "-" in case.given["schedule"].split()[-1] and case.expected == (
        days.partition("-")[0] + (city and f" ({city}")
    )


def _one_line(case: Case, got: Any) -> bool:
    """The reference makes a list of one item of a text with commas."""
    lists = {key: case.given[key] for key in LISTS & case.given.keys()}
    texts = {key: text for key, text in lists.items() if isinstance(text, str) and "," in text}
    wrapped = {key: [text] for key, text in texts.items()}
    return bool(wrapped) and case.expected == {**got, **wrapped}


AREAS = {
    "cron_validation": Area(
        _validity,
        same=_same_validity,
        rules={"never-comes": lambda _, got: got.get("error", "").endswith("it never comes")},
    ),
    "cron_due": Area(_cron_due),
    "schedule_due": Area(_due),
    "skill_normalizer": Area(
        lambda given: normalize_fields(given, ms(NORMALISED_AT), REFERENCE_AGENT),
        rules={"lists-as-text": _one_line},
    ),
    "human_schedule": Area(
        lambda given: describe_schedule(given["schedule"], given.get("timezone")),
        rules={"range-of-days": _names_range},
    ),
}
