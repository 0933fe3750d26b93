"""schedule_task, list_tasks and cancel_task, as a model uses them."""

from dataclasses import replace

import pytest
from fakes.memory import HOME
from fakes.tool_call import NOON, run
from pydantic import JsonValue

from orchestrator.extensions.schedules import task_tools as tools
from orchestrator.journal.db.database import Database
from orchestrator.journal.schedule import tasks
from orchestrator.schedules.specs import Notify
from orchestrator.tools.builtin.host_tool import ToolContext, ToolFailure
from orchestrator.tools.host_tools import list_own_tools
from thinker.protocol.messages import JsonObject
from thinker.toolcalls.arguments import coerce_arguments
from thinker.toolcalls.schema_validation import check_against_schema

TOOLS = list_own_tools()


def test_task_is_scheduled_for_this_chat_in_the_users_zone(
    db: Database, context: ToolContext
) -> None:
    """The answer says when it will run."""
    answer = run(
        tools.schedule_task,
        db,
        context,
        name="brief",
        instructions="What is on?",
        schedule="30 8 * * 1-5",
        required_tools='["search_memories"]',
    )
    assert answer == (
        "Scheduled: 1 'brief': 8:30 AM Mon-Fri (New York),"
        " next Thu 2026-02-12 08:30 (America/New_York)"
    )
    spec = tasks.load_task(db, 1).spec
    assert spec.notify == Notify(channel="telegram", chat_id="7")
    assert spec.required_tools == ("search_memories",)
    assert run(tools.list_tasks, db, context) == answer.removeprefix("Scheduled: ")


def test_reminder_in_some_minutes_runs_once(db: Database, context: ToolContext) -> None:
    """It runs without tools if it needs none."""
    reminder = {"name": "tea", "instructions": "Say: tea!", "in_minutes": "5", "no_tools": "true"}
    assert "once, Thu 2026-02-12 07:05" in run(tools.schedule_task, db, context, **reminder)
    task = tasks.load_task(db, 1)
    assert (task.next_at, task.spec.required_tools) == (NOON + 300_000, ())


@pytest.mark.parametrize("soon", [{"in_minutes": 0.01}, {"at": "2020-01-01T00:00"}])
def test_task_is_due_in_a_minute_at_the_earliest(
    db: Database, context: ToolContext, soon: dict[str, JsonValue]
) -> None:
    """A task that schedules the next one does not run all the time."""
    answer = run(tools.schedule_task, db, context, name="x", instructions="y", **soon)
    assert "once, Thu 2026-02-12 07:01" in answer
    assert tasks.load_task(db, 1).next_at == NOON + 60_000


def test_numbers_are_numbers_for_the_model() -> None:
    """What it writes as text is converted."""
    schema = tools.schedule_task.spec.parameters
    given: JsonObject = {"name": "x", "instructions": "y", "in_hours": 9, "no_tools": True}
    assert check_against_schema(given, schema) is None
    assert coerce_arguments({**given, "in_hours": "9", "no_tools": "true"}, schema) == given


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "no time given"),
        ({"in_minutes": "0"}, "no time given"),
        ({"schedule": "every day"}, "Invalid cron expression"),
        ({"at": "tomorrow"}, "is not a date and time"),
        ({"in_hours": "1", "name": ""}, "name: "),
        ({"in_hours": "1", "timezone": "Mars/Base"}, "unknown time zone"),
    ],
)
def test_unusable_schedule_is_an_answer_to_the_model(
    db: Database, context: ToolContext, arguments: dict[str, str], message: str
) -> None:
    """Nothing is scheduled."""
    with pytest.raises(ToolFailure, match=message):
        run(tools.schedule_task, db, context, **{"name": "x", "instructions": "y", **arguments})
    assert run(tools.list_tasks, db, context) == "No tasks are scheduled."


def test_model_cannot_choose_a_stranger_or_skip_itself(db: Database, context: ToolContext) -> None:
    """The outcome goes to this chat, and every call is decided by a model."""
    arguments = {"name": "x", "instructions": "y", "in_hours": "1", "notify_chat_id": "666"}
    plan = '[{"toolName": "send_telegram"}]'
    run(tools.schedule_task, db, context, **arguments, execution_plan=plan)
    spec = tasks.load_task(db, 1).spec
    assert (spec.notify, spec.direct) == (Notify(channel="telegram", chat_id="7"), None)


def test_task_is_cancelled_by_number_or_name_by_its_own_agent(
    db: Database, context: ToolContext
) -> None:
    """Another agent's tasks do not exist for it."""
    for name in ("one", "two"):
        run(tools.schedule_task, db, context, name=name, instructions="y", in_hours="1")
    with pytest.raises(ToolFailure, match="there is no task 'one'; see list_tasks"):
        run(tools.cancel_task, db, replace(context, agent_id="home", memory=HOME), task="one")
    assert run(tools.cancel_task, db, context, task="one") == "Canceled task 1 'one'."
    assert run(tools.cancel_task, db, context, task="2") == "Canceled task 2 'two'."
    assert run(tools.list_tasks, db, context) == "No tasks are scheduled."


def test_disabled_task_says_why_it_does_not_run(db: Database, context: ToolContext) -> None:
    """So that the model can tell the user."""
    run(tools.schedule_task, db, context, name="x", instructions="y", interval_minutes="60")
    tasks.disable_task(db, 1, NOON)
    assert run(tools.list_tasks, db, context) == "1 'x': every hour, disabled (by the operator)"


def test_tools_that_a_task_will_not_have_are_told(db: Database, context: ToolContext) -> None:
    """With the nearest that there is; the task is scheduled all the same."""
    offered = TOOLS["search_memories"].spec, TOOLS["get_time"].spec
    calling = replace(context, offered=offered)
    answer = run(
        tools.schedule_task,
        db,
        calling,
        name="x",
        instructions="y",
        in_hours=1,
        required_tools="get_time, search_memory, send_telegram",
    )
    assert answer.startswith("Scheduled: 1 'x'")
    assert answer.endswith(
        " You have no tool 'search_memory' now, so the task may fail; did you mean"
        ' "search_memories"? send_telegram is not offered in tasks: the outcome is sent to this'
        " chat by itself."
    )
    assert tasks.load_task(db, 1).spec.required_tools == (
        "get_time",
        "search_memory",
        "send_telegram",
    )
    for known in (calling, context):  # where nothing is known of the tools, nothing is told
        name = "get_time" if known is calling else "other"
        given: dict[str, JsonValue] = {"instructions": "y", "in_hours": 1, "required_tools": [name]}
        assert "no tool" not in run(tools.schedule_task, db, known, name=name, **given)


@pytest.mark.parametrize("blank", ["", "none", [], None])
def test_blank_list_of_tools_leaves_the_choice_to_the_text(
    db: Database, context: ToolContext, blank: JsonValue
) -> None:
    """Weak models fill every field."""
    given: dict[str, JsonValue] = {"name": "z", "instructions": "y", "in_hours": 1}
    given |= {"required_tools": blank, "at": "", "schedule": "", "timezone": ""}
    run(tools.schedule_task, db, context, **given)
    assert tasks.load_task(db, 1).spec.required_tools is None


def test_call_with_every_field_filled_in_is_one_with_the_fields_that_say_something(
    db: Database, context: ToolContext
) -> None:
    """As a weak model writes it, and as it is checked against the schema."""
    schema = tools.schedule_task.spec.parameters
    properties = schema["properties"]
    assert isinstance(properties, dict)
    said: JsonObject = {"name": "x", "instructions": "y", "schedule": "0 9 * * *"}
    given = coerce_arguments({**dict.fromkeys(properties, ""), **said}, schema)
    assert check_against_schema(given, schema) is None
    assert run(tools.schedule_task, db, context, **given).startswith("Scheduled: 1 'x'")
    assert tasks.load_task(db, 1).spec.required_tools is None
