"""The form for a task."""

import json

from fakes.screens import html, request

from orchestrator.control.editing import EditReport
from orchestrator.extensions.page.screens import task_form
from orchestrator.extensions.page.screens.task_form import NextInstants, TaskLook

TEXT = json.dumps(
    {
        "agent": "home",
        "name": "note",
        "instructions": "Write.",
        "schedule": "30 8 * * *",
        "timezone": "Europe/Warsaw",
        "max_steps": 3,
        "enabled": True,
    }
)


def test_form_keeps_what_it_does_not_show() -> None:
    """Another schedule replaces the old one, whatever kind it has."""
    form = {**task_form.read_values(TEXT), "when": "2027-03-01T09:00", "notify": "telegram:9"}
    fields = json.loads(task_form.build_task_text(TEXT, form))
    assert fields["at"] == "2027-03-01T09:00"
    assert "schedule" not in fields
    assert fields["max_steps"] == 3
    assert fields["notify"] == "telegram:9"


def test_untouched_form_is_the_same_task() -> None:
    """Also one that repeats after some minutes."""
    assert json.loads(task_form.build_task_text(TEXT, task_form.read_values(TEXT))) == json.loads(
        TEXT
    )
    every = json.dumps({"agent": "home", "name": "n", "interval_minutes": 90, "enabled": False})
    values = task_form.read_values(every)
    assert values["when"] == "every 90 minutes"
    assert json.loads(task_form.build_task_text(every, values)) == json.loads(every)


def test_next_instants_stand_beside_the_form() -> None:
    """In the zone of the task, with what the change means."""
    look = TaskLook(
        task_form.read_values(TEXT),
        EditReport(name="tasks/1", text=TEXT, base="1", sentences=("task note runs later",)),
        NextInstants(times=(1_774_000_000_000,), timezone="Europe/Warsaw"),
        "1",
    )
    page = html(task_form.render_task_form(request(), look, ["home"]).content)
    assert "task note runs later" in page
    assert "In Europe/Warsaw." in page
    assert page.count("<time") == 1
