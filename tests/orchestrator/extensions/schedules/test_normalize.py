"""Tasks in the ways that models write them (more: the vectors of skill_normalizer)."""

import pytest
from pydantic import JsonValue

from orchestrator.extensions.schedules.normalize import normalize_fields
from orchestrator.extensions.schedules.task_building import build_task_spec
from thinker.protocol.messages import JsonObject

NOW = 1_770_897_600_000


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("nested", [True, False])
def test_explicit_schedule_wins_over_an_alias(order: int, *, nested: bool) -> None:
    """In either order; an empty one does not count."""
    both: list[tuple[str, JsonValue]] = [("schedule", "0 9 * * *"), ("cron", "0 0 * * *")]
    fields: JsonObject = dict(both[::order])
    given: JsonObject = {"trigger_config": fields} if nested else fields
    config = normalize_fields(given, NOW, "a")["trigger_config"]
    assert config == {"schedule": "0 9 * * *"}
    fields["schedule"] = ""
    assert normalize_fields(given, NOW, "a")["trigger_config"] == {"schedule": "0 0 * * *"}


def test_blanks_that_weak_models_fill_in_mean_none() -> None:
    """A task with every optional field blank is one without them."""
    blank: JsonObject = dict.fromkeys(
        ("at", "timezone", "interval_minutes", "in_hours", "max_steps", "no_tools"), ""
    )
    task: JsonObject = {"name": "x", "instructions": "y", "schedule": "0 9 * * *"}
    given: JsonObject = {**task, **blank, "required_tools": ""}
    assert normalize_fields(given, NOW, "a") == {
        **normalize_fields(task, NOW, "a"),
        "required_tools": [],
    }
    spec = build_task_spec(normalize_fields(given, NOW, "a"), "UTC", None, NOW)
    assert spec.required_tools is None
    assert spec == build_task_spec(normalize_fields(task, NOW, "a"), "UTC", None, NOW)


@pytest.mark.parametrize("written", ["a, b", '["a", "b"]', ["a", "", "b"]])
def test_tools_are_read_in_every_form(written: JsonValue) -> None:
    """One line of text, JSON, or a list."""
    given: JsonObject = {"name": "x", "instructions": "y", "required_tools": written}
    given["at"] = "2030-01-01T00:00"
    spec = build_task_spec(normalize_fields(given, NOW, "a"), "UTC", None, NOW)
    assert spec.required_tools == ("a", "b")
