"""Tasks in the journal: kept in step with skill files, switched on and off, cancelled."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import job, opened
from fakes.memory import HOME, WORK

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.database import Database
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.journal.schedule.tasks import Task
from orchestrator.schedules.specs import TaskSpec

MINUTE, DAY = 60_000, 86_400_000
START = 1_770_897_600_000  # 2026-02-12 12:00 UTC
MORNING = START + 21 * 3_600_000  # 09:00 on the day after


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def spec(name: str = "brief", cron: str = "0 9 * * *", instructions: str = "do it") -> TaskSpec:
    """A task by cron in UTC."""
    return TaskSpec(
        name=name, instructions=instructions, trigger={"schedule": cron}, timezone="UTC"
    )


def sync(db: Database, *specs: TaskSpec, now: int = START, agent: str = "work") -> None:
    """What the agent's skill files say."""
    with job(db):
        tasks.sync_skill_tasks(db, {agent: {s.name: (s.model_dump_json(), s) for s in specs}}, now)


def only(db: Database) -> Task:
    """The one task that there ever was."""
    (task,) = tasks.TASKS.select(db, "true")
    return task


def test_task_follows_its_skill_file(db: Database) -> None:
    """Added, changed, removed and back again, as one task with one history."""
    sync(db, spec())
    first = only(db)
    assert (first.source, first.state, first.next_at) == ("skill", "active", MORNING)
    sync(db, spec(), now=START + 1)
    assert only(db) == first
    sync(db, spec(instructions="do more"), now=MORNING + DAY)
    assert (only(db).spec.instructions, only(db).next_at) == ("do more", MORNING)
    sync(db, spec(cron="0 10 * * *"))
    assert only(db).next_at == MORNING + 3_600_000
    sync(db)
    assert only(db).state == "cancelled"
    sync(db, spec(cron="0 10 * * *"))
    assert (only(db).id, only(db).state, only(db).note) == (first.id, "active", None)


def test_edit_does_not_switch_a_disabled_task_on(db: Database) -> None:
    """There was a reason for it."""
    sync(db, spec())
    with job(db):
        tasks.disable_task(db, only(db).id, START)
    sync(db, spec(cron="0 10 * * *"))
    found = only(db)
    assert (found.state, found.note) == ("disabled", "by the operator")


def test_each_agent_has_its_own_task_of_a_skill(db: Database) -> None:
    """An agent that is gone has none."""
    planned = {"brief": ("digest", spec())}
    with job(db):
        tasks.sync_skill_tasks(db, {"work": planned, "home": planned}, START)
    assert [task.agent_id for task in tasks.list_tasks(db)] == ["home", "work"]
    with job(db):
        tasks.sync_skill_tasks(db, {"home": planned}, START)
    assert [task.agent_id for task in tasks.list_tasks(db)] == ["home"]


def test_tool_cannot_schedule_a_name_twice_or_without_end(db: Database) -> None:
    """A model that asks again is told what is there."""
    with job(db):
        made = tasks.add_task(db, WORK, spec(), START)
        with pytest.raises(OrchestratorError, match=f"exists \\(id {made.id}\\); cancel it"):
            tasks.add_task(db, WORK, spec(), START)
        for number in range(1, tasks.MAX_TASKS):
            tasks.add_task(db, WORK, spec(f"t{number}"), START + number * MINUTE)
        with pytest.raises(OrchestratorError, match="cancel one first"):
            tasks.add_task(db, WORK, spec("more"), START + DAY)
        assert tasks.add_task(db, HOME, spec(), START).agent_id == "home"


def test_chat_schedules_only_so_many_tasks_an_hour(db: Database) -> None:
    """A task that schedules and cancels tasks does not run all the time; other chats go on."""
    with job(db):
        for number in range(tasks.MAX_NEW):
            tasks.cancel_task(db, tasks.add_task(db, WORK, spec(f"t{number}"), START))
        with pytest.raises(OrchestratorError, match="try again later"):
            tasks.add_task(db, WORK, spec("more"), START + tasks.PERIOD - 1)
        assert tasks.add_task(db, HOME, spec(), START).agent_id == "home"
        assert tasks.add_task(db, WORK, spec("more"), START + tasks.PERIOD).name == "more"


def test_cancelled_task_of_a_skill_stays_switched_off(db: Database) -> None:
    """Its file is still there; one of a tool is gone for good."""
    sync(db, spec())
    with job(db):
        tasks.cancel_task(db, only(db))
        made = tasks.add_task(db, WORK, spec("mine"), START)
        tasks.cancel_task(db, made)
    sync(db, spec())
    assert [(task.name, task.state) for task in tasks.list_tasks(db)] == [("brief", "disabled")]
    assert tasks.load_task(db, made.id).state == "cancelled"


def test_disabled_task_is_enabled_for_what_comes_from_now_on(db: Database) -> None:
    """Nothing that it missed meanwhile runs."""
    sync(db, spec())
    number = only(db).id
    with job(db):
        tasks.enable_task(db, number, START)  # it is on: nothing changes
        tasks.disable_task(db, number, START)
        with pytest.raises(OrchestratorError, match="is not active"):
            tasks.disable_task(db, number, START)
        tasks.enable_task(db, number, MORNING + DAY + 1)
    assert (only(db).state, only(db).next_at) == ("active", MORNING + 2 * DAY)


def test_one_shot_is_enabled_while_its_instant_is_to_come(db: Database) -> None:
    """Later there is only running it now."""
    once = spec().model_copy(update={"trigger": {"at": "2026-02-13T09:00Z"}})
    with job(db):
        number = tasks.add_task(db, WORK, once, START).id
        tasks.disable_task(db, number, START)
        tasks.enable_task(db, number, START + 1)
        assert tasks.load_task(db, number).next_at == MORNING
        tasks.disable_task(db, number, START)
        with pytest.raises(OrchestratorError, match=f"orchestrator tasks run {number}"):
            tasks.enable_task(db, number, MORNING)


def test_unknown_task_is_refused(db: Database) -> None:
    """With where to look."""
    for change in (tasks.enable_task, tasks.disable_task, task_runs.run_task_now):
        with pytest.raises(OrchestratorError, match="orchestrator tasks list"), job(db):
            change(db, 7, START)
