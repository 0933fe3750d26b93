"""The scheduler: wakes when something is due, follows clocks and files, says when it is stuck."""

from pathlib import Path

import pytest
from fakes.memory import WORK
from fakes.scheduler import MINUTE, NOON, Bench, agents, running
from fakes.time_limit import time_limit

from orchestrator.extensions.schedules import task_firing
from orchestrator.extensions.schedules.scheduler import PERIOD
from orchestrator.journal.db.database import Database
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.schedules.specs import TaskSpec


def names(db: Database) -> list[str]:
    """Return the tasks."""
    return [task.name for task in tasks.list_tasks(db)]


async def test_due_task_is_fired_and_its_runner_is_woken(tmp_path: Path) -> None:
    """A task that is added while the scheduler sleeps wakes it."""
    async with running(tmp_path) as bench:
        number = await bench.task(interval_minutes=5)
        changed = bench.changed
        bench.scheduler.wake()
        with time_limit():
            await changed.wait()
        assert await bench.states(number) == ["due"]
        assert await bench.store.transact(task_firing.find_next_due_time) == NOON + 5 * MINUTE


async def test_eight_hours_of_sleep_are_one_run_of_the_latest(tmp_path: Path) -> None:
    """The machine slept, so the monotonic clock stood still (F31)."""
    async with running(tmp_path) as bench:
        number = await bench.task(schedule="0 * * * *")
        bench.now += 8 * 60 * MINUTE
        bench.scheduler.wake()
        await bench.until(lambda db: len(task_runs.list_task_runs(db, number, 10)) > 0)
        assert await bench.states(number) == ["due", *["missed"] * 7]
        assert bench.changes == 1


async def test_clock_that_is_set_back_is_noticed(tmp_path: Path) -> None:
    """A task that had its instant a year from now goes on today."""
    async with running(tmp_path) as bench:
        number = await bench.task(interval_minutes=30)
        bench.now += 365 * 1440 * MINUTE
        bench.scheduler.wake()
        await bench.until(lambda db: len(task_runs.list_task_runs(db, number, 10)) > 0)
        bench.now = NOON
        bench.scheduler.wake()
        await bench.until(lambda db: task_firing.find_next_due_time(db) == NOON + 30 * MINUTE)


async def test_tasks_follow_skill_files_of_the_agents_that_may_use_them(tmp_path: Path) -> None:
    """Added, broken, removed; an agent's globs and its end count too."""
    async with running(tmp_path) as bench:
        bench.skill("brief", '{schedule: "0 8 * * *"}')
        bench.skill("broken", '{schedule: "61 8 * * *"}')
        bench.skill("report", "{interval_minutes: 600}")
        bench.scheduler.reread_skills()
        await bench.until(lambda db: names(db) == ["brief", "report"])
        bench.skill("report", None)
        bench.scheduler.reread_skills()
        await bench.until(lambda db: names(db) == ["brief"])
        bench.file = agents(skills=["r*"])
        bench.scheduler.reread_skills()
        await bench.until(lambda db: names(db) == [])
        bench.file = agents()
        bench.scheduler.reread_skills()
        await bench.until(lambda db: names(db) == ["brief"])
        bench.file = agents(enabled=False)
        bench.scheduler.reread_skills()
        await bench.until(lambda db: names(db) == [])


async def test_outcome_of_a_skills_task_goes_to_the_agents_notify_chat(tmp_path: Path) -> None:
    """In the agent's time zone, unless the file names another."""
    async with running(tmp_path) as bench:
        bench.file = agents(
            timezone="Europe/Warsaw", costControls={"enabled": False, "notifyChatId": "5"}
        )
        bench.skill("brief", '{schedule: "0 8 * * *"}')
        bench.scheduler.reread_skills()
        await bench.until(lambda db: names(db) == ["brief"])
        (task,) = await bench.store.transact(tasks.list_tasks)
        assert task.spec.notify is not None
        assert (task.spec.notify.channel, task.spec.notify.chat_id) == ("telegram", "5")
        assert task.spec.timezone == "Europe/Warsaw"
        assert task.next_at == NOON + 19 * 60 * MINUTE


async def test_task_that_cannot_be_read_any_more_does_not_stop_the_others(tmp_path: Path) -> None:
    """This machine may have lost its time zone."""

    def spoil(db: Database) -> None:
        db.execute("UPDATE task SET spec = replace(spec, '\"UTC\"', '\"Old/Zone\"')")

    async with running(tmp_path) as bench:
        lost = await bench.task(interval_minutes=5)
        await bench.store.transact(spoil)
        spec = TaskSpec(name="u", instructions="x", trigger={}, timezone="UTC")
        number = (await bench.store.transact(tasks.add_task, WORK, spec, NOON)).id
        bench.scheduler.wake()
        await bench.until(lambda db: len(task_runs.list_task_runs(db, number, 10)) > 0)
        found = await bench.store.transact(tasks.load_task, lost)
        assert (found.state, found.note) == (
            "disabled",
            "unknown time zone 'Old/Zone'; use one such as Europe/Berlin",
        )


@pytest.mark.parametrize(("seconds", "stuck"), [(2 * PERIOD - 1, False), (2 * PERIOD + 1, True)])
async def test_scheduler_that_does_not_look_at_the_clock_is_not_ready(
    tmp_path: Path, seconds: float, *, stuck: bool
) -> None:
    """Two periods without a tick are too many."""
    bench = Bench(tmp_path)
    bench.monotonic += seconds
    assert (bench.scheduler.find_problem() is not None) is stuck
    bench.store.close()
