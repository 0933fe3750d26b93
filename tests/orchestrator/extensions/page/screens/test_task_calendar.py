"""The week of the tasks."""

from datetime import date
from itertools import islice

from fakes.screens import NOW, html, request

from orchestrator.extensions.page.reads.task_week import CountedRuns, TaskWeek
from orchestrator.extensions.page.screens import task_calendar
from orchestrator.journal.schedule.task_runs import TaskRun
from orchestrator.journal.schedule.tasks import Task
from orchestrator.schedules.specs import TaskSpec

HOUR = 3_600_000
MONDAY = date(2026, 3, 16)


def task(minutes: int, number: int = 1) -> Task:
    """A task that is due again after some minutes."""
    spec = TaskSpec(
        name="note",
        instructions="Write.",
        trigger={"interval_minutes": minutes},
        timezone="UTC",
    )
    after = NOW + 60_000 * minutes
    return Task(number, "home", "note", "skill", spec, "", "active", None, 2, 0, after, 0, "")


SPARSE = task(1440)
RUN = TaskRun(1, NOW - HOUR, "missed", "no daemon was running", None, None, None)


def calendar(found: TaskWeek) -> str:
    """The calendar."""
    return html(task_calendar.render_calendar(request(), found, MONDAY))


def test_week_shows_what_was_missed_and_what_is_due() -> None:
    """Missed is a state, not a gap."""
    page = calendar(TaskWeek([SPARSE], {}, [RUN], []))
    assert "missed" in page
    assert "due </span>" in page


def test_frequent_task_is_one_line_a_day_with_all_its_times() -> None:
    """Until the end of the week, and with what ran already."""
    counted = [CountedRuns(1, 0, "ran", 700), CountedRuns(1, 0, "failed", 2)]
    page = calendar(TaskWeek([task(2)], {}, [], counted))
    assert "every 2 min: 700 ran, 2 failed" in page
    assert page.count("720 times, from 00:0") == 2  # Saturday and Sunday
    assert page.count("<li>") == 4


def test_week_with_too_many_instants_says_so() -> None:
    """A day is never empty in silence."""
    many = [task(1, number) for number in range(1, 21)]
    page = calendar(TaskWeek(many, {}, [], []))
    assert "at least" in page
    assert "and so on" in page


def test_next_instants_are_those_from_now_on() -> None:
    """A task that is off has none."""
    found = task(60)
    assert list(islice(task_calendar.list_next_instants(found, NOW), 2)) == [
        NOW + HOUR,
        NOW + 2 * HOUR,
    ]
