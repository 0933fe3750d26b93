"""Tasks in a list, and each by itself."""

from dataclasses import replace

from fakes.screens import NOW, html, request

from orchestrator.extensions.page.reads.task_week import TaskHistory, TaskWeek
from orchestrator.extensions.page.screens import task_table
from orchestrator.journal.schedule.task_runs import TaskRun
from orchestrator.journal.schedule.tasks import Task
from orchestrator.schedules.specs import TaskSpec

HOUR = 3_600_000
SPEC = TaskSpec(
    name="note", instructions="Write.", trigger={"interval_minutes": 60}, timezone="Europe/Warsaw"
)
TASK = Task(1, "home", "note", "tool", SPEC, "", "active", None, 2, 0, NOW + HOUR, 0, "")
RUN = TaskRun(1, NOW - HOUR, "missed", "no daemon was running", None, None, None)


def test_list_says_when_each_task_is_due_and_how_it_went() -> None:
    """In the zone of the task, with its last runs."""
    found = TaskWeek([TASK], {1: [RUN]}, [], [])
    page = html(task_table.render_tasks(request(), found))
    assert "every hour" in page
    assert ">11:46:40<" in page
    assert "in 1 h" in page
    assert "1 run, 1 failed or missed" in page
    assert "Run now" in page
    assert 'href="/tasks/1/edit"' in page
    assert "Run now" not in html(task_table.render_tasks(request("viewer"), found))


def test_task_of_a_skill_is_edited_in_its_skill() -> None:
    """Not here."""
    found = TaskWeek([replace(TASK, source="skill")], {}, [], [])
    assert "/edit" not in html(task_table.render_tasks(request(), found))


def test_home_without_tasks_offers_to_make_one() -> None:
    """To those who may."""
    found = TaskWeek([], {}, [], [])
    assert 'href="/tasks/new"' in html(task_table.render_tasks(request(), found))
    assert 'href="/tasks/new"' not in html(task_table.render_tasks(request("viewer"), found))


def test_one_task_says_when_it_comes_next_and_what_it_does() -> None:
    """The instructions are for those who may read."""
    page = html(task_table.render_task(request(), TaskHistory(TASK, [RUN])).content)
    assert "Write." in page
    assert "no daemon was running" in page
    viewer = task_table.render_task(request("viewer"), TaskHistory(TASK, []))
    assert "Write." not in html(viewer.content)


def test_task_that_is_off_is_not_due() -> None:
    """Instead of an empty list and the rules of the clock."""
    off = replace(TASK, state="disabled")
    page = html(task_table.render_task(request(), TaskHistory(off, [])).content)
    assert "It is switched off." in page
    assert "change of the clock" not in page
