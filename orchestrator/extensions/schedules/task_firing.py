"""Fire due tasks, and record how their runs have ended.

Firing a task is one transaction, with its runs, an inbox row for each due run, and the task's next
instant, so that no instant fires twice and none is lost.
"""

from operator import itemgetter

from orchestrator import chat_texts
from orchestrator.extensions.schedules.misfires import (
    BACKOFF,
    MAX_FAILURES,
    decide_instants,
    list_due_instants,
)
from orchestrator.journal.db.database import Database
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.journal.schedule.tasks import TASKS, Task
from orchestrator.journal.turns import outbox, sessions
from orchestrator.journal.turns.owners import is_owned
from orchestrator.placement import Share
from orchestrator.schedules.times import MINUTE, find_next_due, realign_due

TOO_MANY = "no daemon was running; later instants were missed too, too many to list"


def list_due_tasks(db: Database, now: int, share: Share | None = None) -> list[int]:
    """Return the ids of the due tasks of a share's agents, longest waiting first."""
    sql = "SELECT id, agent_id FROM task WHERE state = 'active' AND next_at <= ?"
    found = db.execute(f"{sql} ORDER BY next_at, id", (now,))
    return [int(task) for task, agent_id in found if is_owned(agent_id, share)]


def find_next_due_time(db: Database, share: Share | None = None) -> int | None:
    """Return when the next task of a share's agents is due, in milliseconds."""
    sql = "SELECT next_at, agent_id FROM task WHERE state = 'active' AND next_at IS NOT NULL"
    first = "LIMIT 1" if share is None else ""
    for next_at, agent_id in db.execute(f"{sql} ORDER BY next_at {first}"):
        if is_owned(agent_id, share):
            return int(next_at)
    return None


def fire_task(db: Database, task_id: int, now: int, share: Share | None = None) -> bool:
    """Turn all past instants of a share's task into runs; return whether any of them is due."""
    task = tasks.load_task(db, task_id)
    if task.state != "active" or task.next_at is None or task.next_at > now:
        return False  # the task was changed meanwhile
    if not is_owned(task.agent_id, share):
        return False  # the agent has left this node meanwhile
    trigger, zone = task.spec.parsed_trigger, task.spec.zone
    instants = list_due_instants(trigger, zone, task.next_at, now)
    sql = "SELECT count(*) FROM task_run WHERE task_id = ? AND state = 'due'"
    unfinished = int(db.execute(sql, (task_id,)).get)
    verdicts = decide_instants(
        instants, task.spec.misfire_rule, now, not_before=task.not_before, unfinished=unfinished
    )
    if instants[0] > task.next_at:
        _record_run(db, task, task.next_at, "missed", TOO_MANY, now)
    for verdict in verdicts:
        if verdict.state == "due":
            task_runs.start_run(db, task, verdict.at, now)
        else:
            _record_run(db, task, verdict.at, verdict.state, verdict.note, now)
    upcoming = find_next_due(trigger, zone, instants[-1])
    state = "done" if upcoming is None else task.state
    db.execute("UPDATE task SET next_at = ?, state = ? WHERE id = ?", (upcoming, state, task_id))
    return any(verdict.state == "due" for verdict in verdicts)


def settle_ended_runs(db: Database, now: int, share: Share | None = None) -> bool:
    """Record how runs of a share's agents have ended; return whether any had since the last call.

    A failure delays the task; after `MAX_FAILURES` in a row it is disabled, with a notice to its
    chat.
    """
    query = db.execute(
        "SELECT task_run.task_id, scheduled_at, inbox.turn_id, inbox.state,"
        " coalesce(turn.error, inbox.error), stop_reason, task.agent_id"
        " FROM task_run JOIN task ON task.id = task_id"
        " JOIN inbox ON inbox.id = inbox_id LEFT JOIN turn ON turn.id = inbox.turn_id"
        " WHERE task_run.state = 'due' AND inbox.state IN('done','dead','cancelled')"
    )
    found = [row[:-1] for row in query if is_owned(row[-1], share)]
    ended = sorted(found, key=itemgetter(0, 1))
    for task_id, at, turn_id, state, error, stop in ended:
        failed = state != "done" or error is not None or stop not in task_runs.SUCCESS
        note = (error or stop) if failed else None
        result = None if turn_id is None else _load_turn_result(db, str(turn_id))
        db.execute(
            "UPDATE task_run SET state = ?, note = ?, result = ?, ended_at = ?"
            " WHERE task_id = ? AND scheduled_at = ?",
            ("failed" if failed else "ran", note, result, now, task_id, at),
        )
        _count_failure(db, tasks.load_task(db, int(task_id)), str(note) if failed else None, now)
    return bool(ended)


def realign_tasks(db: Database, now: int, share: Share | None = None) -> None:
    """Bring next instants forward after the clock went back, so that no task waits too long.

    Those of a share's agents.
    """
    for task in TASKS.select(db, "state = 'active' AND next_at > ?", now):
        if not is_owned(task.agent_id, share):
            continue
        next_at = realign_due(task.spec.parsed_trigger, task.spec.zone, task.next_at or now, now)
        db.execute("UPDATE task SET next_at = ? WHERE id = ?", (next_at, task.id))


def load_task_of_turn(db: Database, turn_id: str) -> Task:
    run = "SELECT task_id FROM task_run JOIN inbox ON inbox.id = inbox_id WHERE turn_id = ?"
    return TASKS.select(db, f"id = ({run})", turn_id)[0]


def _record_run(db: Database, task: Task, at: int, state: str, note: str | None, now: int) -> None:
    db.execute(
        "INSERT INTO task_run(task_id, scheduled_at, state, note, created_at, ended_at)"
        " VALUES(?,?,?,?,?,?) ON CONFLICT DO NOTHING",
        (task.id, at, state, note, now, now),
    )


def _load_turn_result(db: Database, turn_id: str) -> str:
    """Return the answer of a task's last step, or the results of its calls."""
    recorded = sessions.load_transcript(db, turn_id).steps
    if not recorded:
        return ""
    results = [call.result.content for call in recorded[-1].calls if call.result is not None]
    return recorded[-1].response.content or "\n".join(results)


def _count_failure(db: Database, task: Task, error: str | None, now: int) -> None:
    failures = 0 if error is None else task.failures + 1
    delay = BACKOFF[min(failures, len(BACKOFF)) - 1] * MINUTE if failures else 0
    db.execute(
        "UPDATE task SET failures = ?, not_before = ? WHERE id = ?",
        (failures, now + delay if failures else 0, task.id),
    )
    if failures < MAX_FAILURES or task.state != "active":
        return
    tasks.end_task(db, task.id, "disabled", f"failed {failures} times in a row: {error}")
    text = chat_texts.TASK_OFF.format(name=task.name, failures=failures, error=error, id=task.id)
    outbox.add_notice(db, task_runs.resolve_address(db, task), text, now)
