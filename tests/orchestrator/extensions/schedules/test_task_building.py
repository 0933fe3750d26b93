"""How a SKILL.md or a tool call becomes a task."""

import pytest

from orchestrator.extensions.schedules.normalize import normalize_fields
from orchestrator.extensions.schedules.skill_tasks import build_task_fields
from orchestrator.extensions.schedules.task_building import build_task_spec
from orchestrator.schedules.specs import Notify, TaskSpec, ToolStep
from orchestrator.schedules.times import Cron, Interval, Once, ScheduleError
from thinker.formats.skill_file import parse_skill
from thinker.protocol.messages import JsonObject

NOW = 1_770_897_600_000  # 2026-02-12 12:00 UTC
CHAT = Notify(channel="telegram", chat_id="7")
SKILL = """\
---
name: brief
description: Morning briefing.
metadata:
  required_tools: [search_memories]
  trigger_config:
    cron: "0 8 * * *"
    timezone: Europe/Warsaw
    misfire: all
    misfire_limit: 3
    notify_chat_id: 123
  max_steps: 5
  effort: low
---
Say what is on today.
"""


def spec(**fields: object) -> TaskSpec:
    """A task from fields as a person writes them, at noon on 2026-02-12 in UTC."""
    given: JsonObject = {"name": "x", "instructions": "do it", **fields}  # type: ignore[dict-item]
    return build_task_spec(normalize_fields(given, NOW, "work"), "America/New_York", CHAT, NOW)


def test_skill_file_becomes_a_task() -> None:
    """With its own zone, chat, tools and policy for what it missed."""
    fields = build_task_fields(parse_skill(SKILL, "brief"))
    found = build_task_spec(normalize_fields(fields, NOW, "work"), "UTC", CHAT, NOW)
    assert (found.name, found.instructions) == ("brief", "Say what is on today.")
    assert (found.parsed_trigger, found.timezone) == (Cron("0 8 * * *"), "Europe/Warsaw")
    assert found.notify == Notify(channel="telegram", chat_id="123")
    assert (found.required_tools, found.max_steps) == (("search_memories",), 5)
    assert (found.effort, spec(interval_minutes=5, effort="4096").effort) == ("low", 4096)
    assert spec(interval_minutes=5, effort="").effort is None
    assert (found.misfire, found.misfire_limit) == ("all", 3)
    assert TaskSpec.model_validate_json(found.model_dump_json()) == found


def test_what_a_task_does_not_say_has_a_default() -> None:
    """Zone and chat of its author; the newest missed instant runs; tools fit its text."""
    found = spec()
    assert (found.timezone, found.notify, found.misfire) == ("America/New_York", CHAT, "latest")
    assert (found.required_tools, found.direct, found.parsed_trigger) == (
        None,
        None,
        Interval(1440),
    )


@pytest.mark.parametrize(
    ("fields", "trigger"),
    [
        ({"schedule": "0 9 * * *"}, Cron("0 9 * * *")),
        ({"trigger_config": '{"cron_expression": "@daily"}'}, Cron("@daily")),
        ({"intervalMinutes": "30"}, Interval(30)),
        ({"in_minutes": "1.5"}, Once(NOW + 90_000)),
        ({"in_hours": 2, "in_minutes": 30}, Once(NOW + 150 * 60_000)),
        ({"at": "2026-02-12T09:00"}, Once(NOW + 2 * 3_600_000)),
    ],
)
def test_trigger_is_understood_in_the_ways_people_write_it(
    fields: dict[str, object], trigger: object
) -> None:
    """Flat or nested, as text or number."""
    assert spec(**fields).parsed_trigger == trigger


def test_three_ways_to_tools() -> None:
    """No tools, exactly these, or chosen by the text."""
    assert spec(no_tools="true").required_tools == ()
    assert spec(required_tools='["a", "b"]').required_tools == ("a", "b")
    assert spec(required_tools=[]).required_tools is None


def test_plan_of_one_call_needs_no_model() -> None:
    """One of several is for the model, which gets the tools that it names."""
    one = spec(execution_plan=[{"id": "s", "toolName": "get_time", "parameters": {"a": 1}}])
    assert one.direct == ToolStep(tool="get_time", parameters={"a": 1})
    assert TaskSpec.model_validate_json(one.model_dump_json()) == one
    steps = [{"toolName": "a"}, {"toolName": "b"}, {"toolName": "a"}]
    several = spec(execution_plan=steps, required_tools=["c"])
    assert (several.direct, several.required_tools) == (None, ("c", "a", "b"))


def test_check_is_a_call_beside_the_schedule() -> None:
    """Whose plan, if it has one, is for the model."""
    check = {"toolName": "run_command", "parameters": {"command": "new-mail"}}
    found = spec(trigger_config={"interval_minutes": 30, "check": check})
    assert found.check == ToolStep(tool="run_command", parameters={"command": "new-mail"})
    assert TaskSpec.model_validate_json(found.model_dump_json()) == found
    assert spec(interval_minutes=5).check is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "name: "),
        ({"instructions": None}, "instructions: "),
        ({"schedule": "60 * * * *"}, "Invalid cron expression"),
        ({"schedule": "0 0 9 1 1 * 2020"}, "choose a later year"),
        ({"timezone": "Mars/Base"}, "use one such as Europe/Berlin"),
        ({"timezone": "../etc/passwd"}, "use one such as Europe/Berlin"),
        ({"max_steps": 51}, "max_steps: "),
        ({"effort": "huge"}, "effort"),
        ({"misfire": "never"}, "misfire: "),
        ({"execution_plan": [{"tool_name": "a"}]}, "needs a toolName"),
        ({"trigger_config": {"interval_minutes": 5, "check": "get_time"}}, "check: needs a tool"),
        (
            {
                "trigger_config": {"interval_minutes": 5, "check": {"toolName": "a"}},
                "execution_plan": [{"toolName": "b"}],
            },
            "check: a plan of one step",
        ),
        ({"in_hours": 1e12}, "is not a date"),
        ({"schedule": "* * * * * *"}, "once a minute at most"),
        ({"schedule": "*/30 0 9 * * * 2099"}, "once a minute at most"),
    ],
)
def test_unusable_field_is_refused_with_what_to_do(fields: dict[str, object], message: str) -> None:
    """It names the field."""
    with pytest.raises(ScheduleError, match=message):
        spec(**fields)
