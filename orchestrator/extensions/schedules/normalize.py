"""Normalize the many ways in which people and models write a task."""

from datetime import UTC, datetime, timedelta

import orjson
from pydantic import JsonValue

from orchestrator.schedules.task_fields import ALIASES, FLAGS, LISTS, NESTED, NUMBERS, TRIGGERS
from thinker.formats.word_lists import is_blank, parse_words
from thinker.protocol.messages import JsonObject

PLAN = "execution_plan"
BOOLEANS = {"true": True, "false": False}
OPTIONAL = NESTED | NUMBERS | FLAGS | {"effort"}  # weak models write a blank value for none


def normalize_fields(fields: JsonObject, now: int, agent_id: str) -> JsonObject:
    """Return a task's fields, nested and typed correctly; unknown fields stay.

    ``in_minutes`` and ``in_hours`` count from ``now`` (milliseconds since the epoch). ``agent_id``
    is the task's agent if the fields name none.
    """
    renamed = _rename_aliases(fields)
    found = renamed.pop("trigger_config", None)
    inner = _parse_object(found)
    flat = {key: value for key, value in renamed.items() if key in NESTED}
    config = {**flat, **_rename_aliases(inner)}
    delay = 60 * _parse_positive(config.pop("in_hours", None)) + _parse_positive(
        config.pop("in_minutes", None)
    )
    if delay and "at" not in config:
        config["at"] = _format_utc(now, delay)
    result: JsonObject = {
        key: _convert_value(key, renamed[key]) for key in renamed if key not in NESTED
    }
    if config or found is not None:
        result["trigger_config"] = {
            key: _convert_value(key, value) for key, value in config.items()
        }
    if not TRIGGERS.isdisjoint(config):
        result.setdefault("trigger_type", "cron")
    elif config.get("keywords"):
        result.setdefault("trigger_type", "event")
    result["agent_id"] = result.get("agent_id") or agent_id
    return result


def _rename_aliases(fields: JsonObject) -> JsonObject:
    """Return fields by their proper names, which win over aliases; blank times count as absent."""
    found = {ALIASES[key]: value for key, value in fields.items() if key in ALIASES}
    found = {key: value for key, value in found.items() if not is_blank(value)}
    proper = {key: value for key, value in fields.items() if key not in ALIASES}
    kept = {k: value for k, value in proper.items() if not (k in OPTIONAL and is_blank(value))}
    return {**found, **kept}


def _convert_value(key: str, value: JsonValue) -> JsonValue:
    if not isinstance(value, str):
        return value
    if key in FLAGS:
        return BOOLEANS.get(value.strip().lower(), value)
    if key in NUMBERS:
        number = _parse_number(value)
        return value if number is None else number
    if key in LISTS:
        return [*parse_words(value)]
    if key == PLAN:
        return parsed if isinstance(parsed := _parse_json(value), list) else value
    return value


def _parse_object(value: JsonValue) -> JsonObject:
    parsed = _parse_json(value) if isinstance(value, str) else value
    return parsed if isinstance(parsed, dict) else {}


def _parse_json(text: str) -> JsonValue:
    try:
        parsed: JsonValue = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return parsed


def _parse_number(text: str) -> int | float | None:
    parsed = _parse_json(text.strip())
    return parsed if isinstance(parsed, int | float) and not isinstance(parsed, bool) else None


def _parse_positive(value: JsonValue) -> float:
    number = _parse_number(value) if isinstance(value, str) else value
    return max(0, number) if isinstance(number, int | float) else 0


def _format_utc(now: int, minutes: float) -> JsonValue:
    """Format ``now`` plus ``minutes`` in UTC; in words when that is beyond the year 9999."""
    try:
        at = datetime.fromtimestamp(now / 1000, UTC) + timedelta(minutes=minutes)
    except OverflowError:
        return f"in {minutes} minutes"
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
