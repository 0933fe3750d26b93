"""The form for a task."""

import json
from pathlib import Path

from fakes.page import page_bench
from fakes.screens import html, request
from pydantic import JsonValue

from orchestrator.control.editing import (
    FILE_CHECK,
    FILE_READ,
    FILE_SAVE,
    EditReport,
    FileText,
)
from orchestrator.extensions.page.screens import task_form
from orchestrator.extensions.page.screens.known_agents import KnownAgents
from orchestrator.extensions.page.screens.task_form import TASK_CHECK, NextInstants, TaskLook
from thinker.protocol.peer import FAILED, RpcError

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
    page = html(task_form.render_task_form(request(), look, KnownAgents(("home",))).content)
    assert "task note runs later" in page
    assert "In Europe/Warsaw." in page
    assert page.count("<time") == 1


async def test_task_is_removed_after_a_question(tmp_path: Path) -> None:
    """What it means is said first; nothing is sent before Remove."""
    saved = list[JsonValue]()

    async def report(params: JsonValue) -> EditReport:
        assert isinstance(params, dict)
        assert params.get("text") is None
        return EditReport(name="tasks/1", text="", base="1", sentences=("task note is cancelled",))

    async def save(params: JsonValue) -> EditReport:
        saved.append(params)
        return (await report(params)).model_copy(update={"saved": True})

    async def read(params: JsonValue) -> FileText:
        del params
        return FileText(name="tasks/1", text=TEXT, base="1")

    async with page_bench(tmp_path) as bench:
        bench.answers |= {FILE_READ: read, FILE_CHECK: report, FILE_SAVE: save}
        person = await bench.login()
        path = "/tasks/1/edit?remove=1"
        shown = (await person.get(path)).text
        assert "task note is cancelled" in shown
        assert saved == []
        answer = await person.post(path, {"do": "remove", "base": "1", "once": "remove-it"})
        assert answer.headers["location"] == "/tasks/1?saved=1"
        assert len(saved) == 1


async def test_task_with_characters_that_cannot_be_seen_is_edited_as_text(tmp_path: Path) -> None:
    """A form would hide them."""

    async def read(params: JsonValue) -> FileText:
        del params
        return FileText(name="tasks/1", text=TEXT.replace("note", "no\u202ete"), base="1")

    async with page_bench(tmp_path) as bench:
        bench.answers[FILE_READ] = read
        person = await bench.login()
        answer = await person.get("/tasks/1/edit")
        assert answer.headers["location"] == "/texts/tasks/1"


def test_time_is_shown_in_the_words_of_hours() -> None:
    """As it was written, where it fits."""
    every = json.dumps({"agent": "home", "name": "n", "interval_minutes": 120})
    assert task_form.read_values(every)["when"] == "every 2 hours"


def test_task_stays_with_an_agent_that_is_gone() -> None:
    """A saved form would move it to the first of the others."""
    look = TaskLook(task_form.read_values(TEXT), base="1")
    page = html(task_form.render_task_form(request(), look, KnownAgents(("work",))).content)
    assert '<option value="home" selected>' in page


async def test_refused_task_keeps_what_was_typed(tmp_path: Path) -> None:
    """With the reason beside it."""

    async def refuse(_: JsonValue) -> EditReport:
        raise RpcError(FAILED, "a task 'note' exists (id 1)")

    async def find_instants(_: JsonValue) -> NextInstants:
        return NextInstants(times=(), timezone="UTC")

    async with page_bench(tmp_path) as bench:
        bench.answers |= {FILE_SAVE: refuse, TASK_CHECK: find_instants}
        person = await bench.login()
        typed = {"do": "save", "name": "note", "instructions": "Water it", "when": "daily at 8:30"}
        answer = await person.post("/tasks/new", {**typed, "base": ""})
        assert "a task &#39;note&#39; exists (id 1)" in answer.text
        assert "Water it" in answer.text


async def test_task_that_does_not_exist_has_no_form(tmp_path: Path) -> None:
    """It could not be saved."""

    async def read(_: JsonValue) -> FileText:
        return FileText(name="tasks/9", text="", base="")

    async with page_bench(tmp_path) as bench:
        bench.answers[FILE_READ] = read
        person = await bench.login()
        shown = (await person.get("/tasks/9/edit")).text
        assert "This task does not exist." in shown
        assert "What to do" not in shown
