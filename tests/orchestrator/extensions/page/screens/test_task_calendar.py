"""The week of the tasks."""

from datetime import date
from itertools import islice

from fakes.screens import NOW, html, request

from orchestrator.extensions.page.reads.task_week import TaskHistory, TaskWeek
from orchestrator.extensions.page.screens import task_calendar
from orchestrator.journal.schedule.task_runs import TaskRun
from orchestrator.journal.schedule.tasks import Task
from orchestrator.schedules.specs import TaskSpec

HOUR = 3_600_000
SPEC = TaskSpec(
    name="note", instructions="Write.", trigger={"interval_minutes": 60}, timezone="UTC"
)
TASK = Task(1, "home", "note", "skill", SPEC, "", "active", None, 2, 0, NOW + HOUR, 0, "")
RUN = TaskRun(1, NOW - HOUR, "missed", "no daemon was running", None, None, None)
MONDAY = date(2026, 3, 16)


def test_week_shows_what_was_missed_and_what_is_due() -> None:
    """Missed is a state, not a gap."""
    page = html(task_calendar.render_week(request(), TaskWeek([TASK], {1: RUN}, [RUN]), MONDAY))
    assert "missed" in page
    assert " due · note" in page
    assert "every hour" in page
    assert "Run now" in page
    assert "Run now" not in html(
        task_calendar.render_week(request("viewer"), TaskWeek([TASK], {}, []), MONDAY)
    )


def test_one_task_says_when_it_comes_next_and_what_it_does() -> None:
    """The instructions are for those who may read."""
    page = html(task_calendar.render_task(request(), TaskHistory(TASK, [RUN])))
    assert "Write." in page
    assert "no daemon was running" in page
    assert "Write." not in html(task_calendar.render_task(request("viewer"), TaskHistory(TASK, [])))
    assert list(islice(task_calendar.list_next_instants(TASK, NOW), 2)) == [
        NOW + HOUR,
        NOW + 2 * HOUR,
    ]
