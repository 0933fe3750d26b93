"""``orchestrator tasks``: with a daemon through it, without one in the journal."""

import json
from pathlib import Path

import pytest
from fakes.control_server import Answer, ask, command, serving
from fakes.journal import booted, connection_in, job, next_turn, opened, reading_in, receive, update
from fakes.memory import WORK
from fakes.postgresql import sqlite_only

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack
from orchestrator.errors import ExitCode
from orchestrator.extensions.schedules import task_firing
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.schedules.specs import Notify, TaskSpec
from thinker.protocol.peer import FAILED, RpcError

START = 1_770_897_600_000  # 2026-02-12 12:00 UTC
MORNING = START + 21 * 3_600_000  # 09:00 on the day after
SPEC = TaskSpec(
    name="brief", instructions="x", trigger={"schedule": "0 9 * * *"}, timezone="Europe/Warsaw"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with task 1, of which one run waits and one was missed."""
    with opened(tmp_path) as db, job(db):
        tasks.add_task(db, WORK, SPEC, START)
        task_firing.fire_task(db, 1, MORNING + 86_400_000)
    return tmp_path


def state(home: Path) -> str:
    """Whether the task runs."""
    with reading_in(home) as db:
        return tasks.load_task(db, 1).state


def test_tasks_are_listed_with_their_schedule_in_words(home: Path) -> None:
    """And with when they come next."""
    listed = " ".join(command(home, "tasks", "list").stdout.split())
    assert "1 work brief 9:00 AM daily (Warsaw) active Sun 2026-02-15 09:00 (Europe/Warsaw)" in (
        listed
    )
    (task,) = json.loads(command(home, "tasks", "list", "--json").stdout)["tasks"]
    assert (task["agentId"], task["schedule"]) == ("work", "9:00 AM daily (Warsaw)")


def test_where_an_outcome_goes_is_said(tmp_path: Path) -> None:
    """To a chat in which the agent has talked, or else nowhere, and how to change that."""
    to = Notify(channel="telegram", chat_id="5")
    specs = [
        SPEC,
        SPEC.model_copy(
            update={"name": "stranger", "notify": to.model_copy(update={"chat_id": "6"})}
        ),
        SPEC.model_copy(update={"name": "known", "notify": to}),
    ]
    with booted(tmp_path) as db:
        receive(db, update(1, chat_id="5"))
        next_turn(db, "t1", "5")
        with job(db):
            for spec in specs:
                tasks.add_task(db, WORK, spec, START)
    shown = command(tmp_path, "tasks", "list").stdout
    assert "the outcome of task 1 stays in 'orchestrator tasks history'; to get it in" in shown
    assert "task 2 stays in 'orchestrator tasks history', because work has not talked in" in shown
    assert "the outcome of task 3 goes to telegram:5\n" in shown
    assert "its outcome goes to telegram:5\n" in command(tmp_path, "tasks", "history", "3").stdout


def test_history_shows_every_due_instant_the_newest_first(home: Path) -> None:
    """Also those that were missed."""
    shown = " ".join(command(home, "tasks", "history", "1").stdout.split())
    assert "task 1 'brief' of work: 9:00 AM daily (Warsaw)" in shown
    assert "2026-02-14 08:00 due" in shown
    assert "2026-02-13 08:00 missed the daemon was not running" in shown
    printed = command(home, "tasks", "history", "1", "--limit", "1", "--json").stdout
    (run,) = json.loads(printed)["runs"]
    assert (run["state"], run["scheduledAt"]) == ("due", MORNING + 82_800_000)


def test_without_a_daemon_the_journal_is_changed(home: Path) -> None:
    """As its only owner."""
    assert command(home, "tasks", "disable", "1").stdout == "task 1 is disabled\n"
    assert state(home) == "disabled"
    assert "disabled" in command(home, "tasks", "list").stdout
    assert command(home, "tasks", "enable", "1").stdout == "task 1 is enabled\n"
    assert state(home) == "active"
    assert command(home, "tasks", "run", "1").stdout.startswith("task 1 is queued")
    with reading_in(home) as db:
        assert [run.state for run in task_runs.list_task_runs(db, 1, 9)] == ["due", "due", "missed"]


def test_unknown_task_is_refused(home: Path) -> None:
    """Each command says where to look."""
    for verb in ("run", "enable", "disable", "history"):
        refused = command(home, "tasks", verb, "9")
        assert refused.exit_code == ExitCode.USAGE
        assert refused.stderr == "unknown task 9; see 'orchestrator tasks list'\n"


async def test_running_daemon_makes_the_change(home: Path) -> None:
    """It has the journal, and has to wake its scheduler."""
    answers: dict[str, Answer] = {
        protocol.TASK_RUN: Ack(),
        protocol.TASK_DISABLE: RpcError(FAILED, "task 1 does not run"),
    }
    async with serving(home, answers) as server:
        ran = await ask(home, "tasks", "run", "1")
        refused = await ask(home, "tasks", "disable", "1")
    assert ran.exit_code == 0
    assert server.params(protocol.TASK_RUN) == [{"id": 1}]
    assert (refused.exit_code, refused.stderr) == (1, "task 1 does not run\n")
    assert state(home) == "active"


@sqlite_only
def test_home_without_a_task_says_so(tmp_path: Path) -> None:
    """Without a journal the message says that there is none."""
    assert command(tmp_path, "tasks", "list").exit_code == ExitCode.IO
    connection_in(tmp_path).close()
    assert command(tmp_path, "tasks", "list").stdout == "no tasks are scheduled\n"
    skill = tmp_path / "skills" / "tea" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tea\ndescription: [d\n---\nBoil.\n", "utf-8")
    assert command(tmp_path, "tasks", "list").stdout == (
        "no tasks are scheduled\n1 error in skills; see: orchestrator check\n"
    )
