"""Scheduled tasks as texts: what they say, and what a change of one does."""

import json

import pytest
from fakes.agents_file import validate_file
from fakes.scheduler import NOON

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.schedules.task_texts import (
    WrittenTask,
    describe_task_change,
    list_due_times,
    parse_task,
    read_words,
    write_words,
)

AGENTS = validate_file({"agents": [{"agentId": "work", "llmProvider": "demo"}]})
PLANTS = {"agent": "work", "name": "plants", "instructions": "Water them.", "timezone": "UTC"}


def parsed(**fields: object) -> WrittenTask:
    """The task of a text with these fields."""
    return parse_task(json.dumps({**PLANTS, **fields}), AGENTS, {}, NOON, fast=False)


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("every 2 hours", {"schedule": None, "interval_minutes": 120}),
        ("every 15 min", {"schedule": None, "interval_minutes": 15}),
        ("daily at 8:30", {"schedule": "30 8 * * *"}),
        ("weekdays at 18:00", {"schedule": "0 18 * * 1-5"}),
        ("Monday at 7:05", {"schedule": "5 7 * * 1"}),
        ("30 8 * * 1-5", {"schedule": "30 8 * * 1-5"}),
    ],
)
def test_schedules_in_words_become_fields(words: str, fields: dict[str, object]) -> None:
    """What is no words that are known stays as it was written."""
    assert read_words(words) == fields


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("15 7 * * 1-5", "weekdays at 7:15"),
        ("0 9 * * *", "daily at 9:00"),
        ("5 0 * * 0,6", "weekends at 0:05"),
        ("30 18 * * 3", "wednesdays at 18:30"),
        ("*/5 8 * * 1-5", "*/5 8 * * 1-5"),
        ("0 8 1 * *", "0 8 1 * *"),
    ],
)
def test_schedule_is_shown_in_the_words_that_were_written(cron: str, words: str) -> None:
    """They mean the same again; what has no words stays cron."""
    assert write_words(cron) == words
    assert read_words(words) == {"schedule": cron}


@pytest.mark.parametrize("written", ["whenever it rains", "tuesday morning", "daily at 25:00"])
def test_time_that_is_not_understood_is_answered_with_words_that_are(written: str) -> None:
    """Not with how cron is written."""
    with pytest.raises(OrchestratorError, match=f"'{written}' is no time .* weekdays at 8:30"):
        parsed(schedule=written)


def test_text_makes_a_task_with_its_chat() -> None:
    """The text of the task that it makes has the same fields."""
    found = parsed(schedule="every 2 hours", notify="telegram:9", enabled=False)
    assert (found.agent_id, found.enabled) == ("work", False)
    assert found.spec.trigger == {"interval_minutes": 120}
    assert (found.spec.notify and found.spec.notify.chat_id) == "9"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"schedule": "61 8 * * *"}, "Invalid cron expression"),
        ({}, "no time is given"),
        ({"schedule": "daily at 8:30", "agent": "other"}, "must be one of: work"),
        ({"schedule": "daily at 8:30", "color": 1}, "unknown field 'color'"),
        ({"schedule": "daily at 8:30", "notify": 7}, "notify"),
        ({"schedule": "daily at 8:30", "enabled": "no"}, "must be true or false"),
        ({"schedule": "daily at 8:30", "instructions": ""}, "instructions"),
    ],
)
def test_wrong_field_is_named(fields: dict[str, object], message: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(OrchestratorError, match=message):
        parsed(**fields)


def test_change_is_said_in_words() -> None:
    """The time is said as lists of tasks say it."""
    old = json.dumps({**PLANTS, "schedule": "0 9 * * *"})
    new = json.dumps({**PLANTS, "schedule": "daily at 8:00", "notify": "telegram:9"})
    assert describe_task_change(old, new) == [
        "task plants runs 8:00 AM daily (UTC) instead of 9:00 AM daily (UTC)",
        "the outcome of task plants goes to telegram:9",
    ]
    assert describe_task_change(old, None) == ("task plants is cancelled",)
    assert describe_task_change(None, old) == (
        "task plants of work is new: it runs 9:00 AM daily (UTC)",
    )


def test_next_instants_of_an_edited_task_are_known() -> None:
    """Five of a repetition, one of a single instant, and none of a text with a fault."""
    text = json.dumps({**PLANTS, "schedule": "every 2 hours"})
    zone, times = list_due_times(text, AGENTS, {}, NOON)
    assert zone == "UTC"
    assert [at - times[0] for at in times] == [0, 7_200_000, 14_400_000, 21_600_000, 28_800_000]
    once = json.dumps({**PLANTS, "at": "2099-01-01T09:00"})
    assert len(list_due_times(once, AGENTS, {}, NOON)[1]) == 1
    with pytest.raises(OrchestratorError):
        list_due_times(json.dumps({**PLANTS, "schedule": "sometimes"}), AGENTS, {}, NOON)
