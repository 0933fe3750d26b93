"""Runs of scheduled tasks: one for each instant at which a task was due.

``due → ran | failed``, or ``missed`` or ``skipped``. Firing a task is one transaction, with its
runs, an inbox row for each due run, and the task's next instant, so that no instant fires twice and
none is lost.
"""

from dataclasses import dataclass
from operator import itemgetter

from orchestrator import chat_texts
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.rows import Rows
from orchestrator.journal.schedule import tasks
from orchestrator.journal.schedule.tasks import TASKS, Task
from orchestrator.journal.turns import inbox, internal_messages, outbox, sessions, transcript
from orchestrator.journal.turns.internal_messages import InternalMessage
from orchestrator.journal.turns.outbox import Address
from orchestrator.schedules.misfires import BACKOFF, MAX_FAILURES, decide
from orchestrator.schedules.times import MINUTE, following, passed, realigned

QUEUE = "task/"  # begins the name of a task's queue: runs wait for each other, no chat for them
SUCCESS = frozenset({"done", "max_steps", "max_tokens", "length"})  # stop reasons with an outcome
UNTOLD = (
    "stays in 'orchestrator tasks history'; to get it in a chat, set notify_chat_id in the skill's"
    " trigger_config, or costControls.notifyChatId of the agent"
)
STRANGER = (
    "stays in 'orchestrator tasks history', because {agent} has not talked in {chat} yet; write to"
    " it there once"
)
TOO_MANY = "no daemon was running; later instants were missed too, too many to list"


@dataclass(frozen=True)
class TaskRun:
    """A run of a task; ``scheduled_at`` and ``ended_at`` in milliseconds."""

    task_id: int
    scheduled_at: int
    state: str
    note: str | None
    result: str | None
    turn_id: str | None
    ended_at: int | None


RUNS = Rows(
    TaskRun,
    "task_run LEFT JOIN inbox ON inbox.id = inbox_id",
    "task_id, scheduled_at, task_run.state, note, result, turn_id, task_run.ended_at",
)


def due(db: Database, now: int) -> list[int]:
    """Return the ids of the tasks that are due, the longest waiting first."""
    sql = "SELECT id FROM task WHERE state = 'active' AND next_at <= ? ORDER BY next_at, id"
    return [int(task) for (task,) in db.execute(sql, (now,))]


def next_due(db: Database) -> int | None:
    found: int | None = db.execute("SELECT min(next_at) FROM task WHERE state = 'active'").get
    return found


def fire(db: Database, task_id: int, now: int) -> bool:
    """Turn all past instants of a task into runs; return whether any of them is due."""
    task = tasks.load(db, task_id)
    if task.state != "active" or task.next_at is None or task.next_at > now:
        return False  # it was changed in the meantime
    trigger, zone = task.spec.parsed, task.spec.zone
    instants = passed(trigger, zone, task.next_at, now)
    sql = "SELECT count(*) FROM task_run WHERE task_id = ? AND state = 'due'"
    unfinished = int(db.execute(sql, (task_id,)).get)
    verdicts = decide(
        instants, task.spec.missed, now, not_before=task.not_before, unfinished=unfinished
    )
    if instants[0] > task.next_at:
        _record(db, task, task.next_at, "missed", TOO_MANY, now)
    for verdict in verdicts:
        if verdict.state == "due":
            _start(db, task, verdict.at, now)
        else:
            _record(db, task, verdict.at, verdict.state, verdict.note, now)
    upcoming = following(trigger, zone, instants[-1])
    state = "done" if upcoming is None else task.state
    db.execute("UPDATE task SET next_at = ?, state = ? WHERE id = ?", (upcoming, state, task_id))
    return any(verdict.state == "due" for verdict in verdicts)


def run_now(db: Database, task_id: int, now: int) -> None:
    """Run a task now, for an operator, besides its schedule.

    Raises:
        OrchestratorError: there is no such task.
    """
    _start(db, tasks.load(db, task_id), now, now)
    audit.record(db, "operator", "ran", f"task {task_id}", now)


def _record(db: Database, task: Task, at: int, state: str, note: str | None, now: int) -> None:
    db.execute(
        "INSERT INTO task_run(task_id, scheduled_at, state, note, created_at, ended_at)"
        " VALUES(?,?,?,?,?,?) ON CONFLICT DO NOTHING",
        (task.id, at, state, note, now, now),
    )


def _start(db: Database, task: Task, at: int, now: int) -> None:
    """Store an inbox row and its run, unless the instant was fired before the clock went back."""
    known = db.execute(
        "SELECT 1 FROM task_run WHERE task_id = ? AND scheduled_at = ?", (task.id, at)
    ).get
    if known is not None:
        return
    name = f"{task.id}@{at}"
    message = InternalMessage(inbox.TASK, name, task.name, task.agent_id, task.spec.instructions)
    queue = f"{QUEUE}{task.agent_id}/{task.id}"
    row = internal_messages.post(db, _address(db, task), message, now, queue)
    db.execute(
        "INSERT INTO task_run(task_id, scheduled_at, state, inbox_id, created_at)"
        " VALUES(?,?,'due',?,?)",
        (task.id, at, row, now),
    )


def _address(db: Database, task: Task) -> Address:
    """Return the chat to notify, or a console chat of the task that only keeps the outcome."""
    notify = task.spec.notify
    found = notify and sessions.address(db, task.agent_id, notify.channel, notify.chat_id)
    return found or Address("console", "local", f"{inbox.TASK}-{task.id}")


def outcome_goes(db: Database, task: Task) -> str:
    """Say where the outcome of a task's next run will go."""
    notify = task.spec.notify
    if notify is None:
        return UNTOLD
    chat = f"{notify.channel}:{notify.chat_id}"
    known = sessions.address(db, task.agent_id, notify.channel, notify.chat_id)
    return f"goes to {chat}" if known else STRANGER.format(agent=task.agent_id, chat=chat)


def settle(db: Database, now: int) -> bool:
    """Store how runs have ended since the last call; return whether any had.

    A failure delays the task; after `MAX_FAILURES` in a row it is disabled, with a notice to its
    chat.
    """
    query = db.execute(
        "SELECT task_run.task_id, scheduled_at, inbox.turn_id, inbox.state,"
        " coalesce(turn.error, inbox.error), stop_reason"
        " FROM task_run JOIN inbox ON inbox.id = inbox_id LEFT JOIN turn ON turn.id = inbox.turn_id"
        " WHERE task_run.state = 'due' AND inbox.state IN('done','dead','cancelled')"
    )
    ended = sorted(query, key=itemgetter(0, 1))
    for task_id, at, turn_id, state, error, stop in ended:
        failed = state != "done" or error is not None or stop not in SUCCESS
        note = (error or stop) if failed else None
        result = None if turn_id is None else _result(db, str(turn_id))
        db.execute(
            "UPDATE task_run SET state = ?, note = ?, result = ?, ended_at = ?"
            " WHERE task_id = ? AND scheduled_at = ?",
            ("failed" if failed else "ran", note, result, now, task_id, at),
        )
        _count(db, tasks.load(db, int(task_id)), str(note) if failed else None, now)
    return bool(ended)


def _result(db: Database, turn_id: str) -> str:
    """Return the answer of a task's last step, or the results of its calls."""
    recorded = transcript.read(db, turn_id).steps
    if not recorded:
        return ""
    results = [call.result.content for call in recorded[-1].calls if call.result is not None]
    return recorded[-1].response.content or "\n".join(results)


def _count(db: Database, task: Task, error: str | None, now: int) -> None:
    failures = 0 if error is None else task.failures + 1
    delay = BACKOFF[min(failures, len(BACKOFF)) - 1] * MINUTE if failures else 0
    db.execute(
        "UPDATE task SET failures = ?, not_before = ? WHERE id = ?",
        (failures, now + delay if failures else 0, task.id),
    )
    if failures < MAX_FAILURES or task.state != "active":
        return
    tasks.end(db, task.id, "disabled", f"failed {failures} times in a row: {error}")
    text = chat_texts.TASK_OFF.format(name=task.name, failures=failures, error=error, id=task.id)
    outbox.add_notice(db, _address(db, task), text, now)


def realign(db: Database, now: int) -> None:
    """Move next instants forward after the clock went back, so that no task waits too long."""
    for task in TASKS.select(db, "state = 'active' AND next_at > ?", now):
        next_at = realigned(task.spec.parsed, task.spec.zone, task.next_at or now, now)
        db.execute("UPDATE task SET next_at = ? WHERE id = ?", (next_at, task.id))


def history(db: Database, task_id: int, limit: int) -> list[TaskRun]:
    return RUNS.select(db, "task_id = ? ORDER BY scheduled_at DESC LIMIT ?", task_id, limit)


def of_turn(db: Database, turn_id: str) -> Task:
    run = "SELECT task_id FROM task_run JOIN inbox ON inbox.id = inbox_id WHERE turn_id = ?"
    return TASKS.select(db, f"id = ({run})", turn_id)[0]
