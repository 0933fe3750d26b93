"""Tasks are changed in the journal as their texts say, and never on an older text."""

import json

import pytest
from fakes.agents_file import validate_file
from fakes.scheduler import NOON

from orchestrator.editable import TextChangedError
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extensions.schedules import task_kind
from orchestrator.extensions.schedules.task_kind import TaskChange, change_task
from orchestrator.extensions.schedules.task_texts import WrittenTask, format_task, parse_task
from orchestrator.journal.db.database import Database
from orchestrator.journal.schedule import tasks

AGENTS = validate_file({"agents": [{"agentId": "work", "llmProvider": "demo"}]})


def written(
    schedule: str = "0 9 * * *", name: str = "plants", *, enabled: bool = True
) -> WrittenTask:
    """A task as a text says it."""
    fields = {"agent": "work", "name": name, "instructions": "Water.", "timezone": "UTC"}
    text = json.dumps({**fields, "schedule": schedule, "enabled": enabled})
    return parse_task(text, AGENTS, {}, NOON, fast=False)


def text_of(db: Database, task_id: int) -> str:
    """The text of a task."""
    return format_task(tasks.load_task(db, task_id))


def test_new_task_is_scheduled_changed_and_cancelled(db: Database) -> None:
    """It keeps its id, and comes back with it."""
    number = change_task(db, TaskChange(None, None, written(), "web:anna"), NOON)
    first = text_of(db, number)
    change_task(db, TaskChange(number, first, written("0 8 * * *"), "web:anna"), NOON)
    assert tasks.load_task(db, number).spec.trigger == {"schedule": "0 8 * * *"}
    change_task(db, TaskChange(number, text_of(db, number), None, "web:anna"), NOON)
    assert tasks.load_task(db, number).state == "cancelled"
    assert change_task(db, TaskChange(number, None, written(), "operator"), NOON) == number
    assert text_of(db, number) == first
    acts = [(str(actor), str(act)) for actor, act in db.execute("SELECT actor, act FROM audit")]
    assert acts == [
        ("web:anna", "scheduled"),
        ("web:anna", "edited"),
        ("web:anna", "cancelled"),
        ("operator", "edited"),
    ]


def test_task_that_changed_meanwhile_stays(db: Database) -> None:
    """An agent, or another page, was faster."""
    number = change_task(db, TaskChange(None, None, written(), "web:anna"), NOON)
    late = TaskChange(number, "an older text", written("0 8 * * *"), "web:bob")
    with pytest.raises(TextChangedError, match="changed meanwhile"):
        change_task(db, late, NOON)
    assert tasks.load_task(db, number).spec.trigger == {"schedule": "0 9 * * *"}


def test_task_does_not_get_a_name_that_is_taken(db: Database) -> None:
    """Neither by a rename, nor when it comes back; a name that is free again is."""
    number = change_task(db, TaskChange(None, None, written(), "web:anna"), NOON)
    other = change_task(db, TaskChange(None, None, written(name="lawn"), "web:anna"), NOON)
    rename = TaskChange(number, text_of(db, number), written(name="lawn"), "web:anna")
    taken = rf"'lawn' exists \(id {other}\); cancel it or choose another name"
    with pytest.raises(OrchestratorError, match=taken):
        change_task(db, rename, NOON)
    change_task(db, TaskChange(other, text_of(db, other), None, "web:anna"), NOON)
    change_task(db, rename, NOON)
    assert tasks.load_task(db, number).name == "lawn"
    with pytest.raises(OrchestratorError, match="cancel it or choose another name"):
        change_task(db, TaskChange(other, None, written(name="lawn"), "web:anna"), NOON)


def test_text_switches_a_task_off_and_on(db: Database) -> None:
    """Its text says so as well."""
    number = change_task(db, TaskChange(None, None, written(enabled=False), "operator"), NOON)
    off = text_of(db, number)
    assert json.loads(off)["enabled"] is False
    change_task(db, TaskChange(number, off, written(), "operator"), NOON)
    assert tasks.load_task(db, number).state == "active"


@pytest.mark.parametrize("name", ["tasks/", "tasks/0", "tasks/../1", "tasks/x", "tasks/1/2"])
def test_other_names_are_no_tasks(name: str) -> None:
    """Only numbers, and the word for a new one."""
    with pytest.raises(UnknownNameError):
        task_kind.parse_task_name(name)
