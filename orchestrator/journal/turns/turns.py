"""Turns: one message (or task) of one chat on its way to an answer.

``running ⇄ waiting → replied → closed``; or ``failed | cancelled | dead``. At most one turn of a
chat is open. Every change is fenced by the epoch: a replaced supervisor changes no row.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from orchestrator.channel_api import ReplyPart
from orchestrator.journal.db import audit, liveness
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.rows import Rows
from orchestrator.journal.db.store import FencedError
from orchestrator.journal.turns import inbox, outbox, sessions, steps, transcript, usage
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.transcript import TurnTranscript
from thinker.protocol.messages import Message, Origin, UserMessage
from thinker.protocol.methods import RecordedStep

STOPPED = "(stopped)"  # ends the visible text of a cancelled turn
LOST_WORKER = "worker lost: "  # begins the note of a lost worker in a turn's history
OPEN = "state IN('running','waiting')"  # the condition of the index of open turns


@dataclass(frozen=True)
class Turn:
    """An open turn; times in milliseconds.

    ``scope`` is the part of its agent's memory that it works with, as `memory_scope` has it, and
    ``ready_at`` when a worker was ready to run it; the journal has that from the turn's first pause
    or its end on.
    """

    id: str
    agent_id: str
    chat_key: str
    session_id: int
    recipe: str
    state: str
    epoch: int
    deadline: int
    started_at: int
    scope: str
    ready_at: int | None = None


TURNS = Rows(Turn, "turn")


class TurnAdmission(NamedTuple):
    """The values with which T2 opens a turn; ``minutes`` limits its wall-clock time."""

    turn_id: str
    agent_id: str
    epoch: int
    minutes: float
    code_version: str
    recipe: str = "interactive"


@dataclass(frozen=True)
class Context:
    """The data from the journal for the worker of a turn."""

    turn: Turn
    messages: tuple[InboxRow, ...]
    said: tuple[UserMessage, ...]
    history: tuple[Message, ...]
    summary: str | None
    summary_origin: Origin
    steps: tuple[RecordedStep, ...]
    recent_tools: tuple[str, ...]
    window: tuple[int, int] | None = None  # the first and the last message of the history


def new_id(now: int, random: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """Return an id for a turn that begins now (milliseconds); later ids are greater.

    Rows of turns of one time are then close together on disk, as with UUID version 7.
    """
    return f"{now:012x}{random(10).hex()}"


def boot(db: Database, now: int) -> int:
    """Begin a new epoch (T0): adopt the open turns and classify half-sent messages."""
    epoch = int(db.execute("SELECT v FROM meta WHERE k = 'epoch'").get or 0) + 1
    liveness.set_meta(db, "epoch", epoch)
    db.execute(  # time without a daemon does not count against a turn's deadline
        "UPDATE turn SET epoch = ?, deadline = ? + allowed, state = 'running', wait = NULL"
        f" WHERE {OPEN}",
        (epoch, now),
    )
    usage.lose_of_open_turns(db)
    outbox.recover(db, now)
    _close_previews(db)
    return epoch


def admit(db: Database, row: InboxRow, admission: TurnAdmission, now: int) -> Turn | None:
    """Open a turn for a message (T2); None if the chat has an open turn.

    Raises:
        FencedError: the message is no longer new.
    """
    scope = _scope(db, row)
    allowed = round(admission.minutes * 60_000)
    turn = Turn(
        id=admission.turn_id,
        agent_id=admission.agent_id,
        chat_key=row.chat_key,
        session_id=sessions.current(db, admission.agent_id, row.chat_key, now, scope),
        recipe=admission.recipe,
        state="running",
        epoch=admission.epoch,
        deadline=now + allowed,
        started_at=now,
        scope=scope,
    )
    db.execute(
        "INSERT INTO turn(id, agent_id, chat_key, session_id, recipe, state, epoch, deadline,"
        " allowed, code_ver, started_at, scope) VALUES(:id, :agent_id, :chat_key, :session_id,"
        " :recipe, :state, :epoch, :deadline, :allowed, :code_ver, :started_at, :scope)"
        " ON CONFLICT DO NOTHING",
        vars(turn) | {"allowed": allowed, "code_ver": admission.code_version},
    )
    if not db.changes():
        return None
    db.execute(
        "UPDATE inbox SET state = 'claimed', agent_id = ?, turn_id = ?"
        " WHERE id = ? AND state = 'new'",
        (admission.agent_id, admission.turn_id, row.id),
    )
    if db.changes() != 1:
        raise FencedError(f"inbox row {row.id} is no longer new")
    return turn


def claimed(row: InboxRow, turn: Turn) -> InboxRow:
    """Return a message as `admit` has left it."""
    return replace(row, state="claimed", agent_id=turn.agent_id, turn_id=turn.id)


def _scope(db: Database, row: InboxRow) -> str:
    """Return the scope of a message: a task has its own, a subagent that of its parent."""
    sql = {
        inbox.TASK: "SELECT task.scope FROM task_run JOIN task ON task.id = task_id"
        " WHERE inbox_id = ?",
        inbox.SUBAGENT: "SELECT scope FROM subagent_run AS run JOIN turn ON turn.id = run.turn_id"
        " WHERE inbox_id = ?",
    }.get(row.kind)
    found = None if sql is None else db.execute(sql, (row.id,)).get
    return row.scope if found is None else str(found)


def load(db: Database, turn_id: str) -> Turn:
    return TURNS.select(db, "id = ?", turn_id)[0]


def open_in(db: Database, chat_key: str) -> Turn | None:
    """Return the chat's running turn, such as one that a dead process left."""
    return TURNS.first(db, f"chat_key = ? AND {inbox.RUNNING}", chat_key)


def set_aside(db: Database, chat_key: str) -> None:
    """Close the chat's open turn, so that another can be rehearsed; the caller undoes it."""
    db.execute(f"UPDATE turn SET state = 'closed' WHERE chat_key = ? AND {OPEN}", (chat_key,))


def context(
    db: Database, turn_id: str, running: frozenset[int], window: int, now: int, jump: int = 1
) -> Context:
    """Settle the calls that a dead process left, and read what a worker needs to go on.

    ``running`` are the calls that this process is still running; ``window`` and ``jump`` are as in
    `sessions.window`.
    """
    steps.recover(db, turn_id, running, now)
    return _context(db, load(db, turn_id), transcript.read(db, turn_id), (window, jump))


def first_context(db: Database, turn: Turn, row: InboxRow, window: int, jump: int = 1) -> Context:
    """Read what a worker needs for a turn that was just opened for a message."""
    return _context(db, turn, TurnTranscript((row,), ()), (window, jump))


def _context(db: Database, turn: Turn, known: TurnTranscript, window: tuple[int, int]) -> Context:
    summary, origin = sessions.summary(db, turn.session_id)
    history = sessions.read(db, turn.session_id, *window)
    return Context(
        turn=turn,
        messages=known.began_with,
        said=tuple(row.said(db) for row in known.began_with),
        history=history.messages,
        summary=summary,
        summary_origin=origin,
        steps=known.steps,
        recent_tools=sessions.recent_tools(db, turn.session_id, 3),
        window=history.span,
    )


def process_died(db: Database, turn_id: str) -> int:
    """Count a death of the process that ran a turn, and return the count of its message."""
    usage.lose(db, turn_id)
    db.execute("UPDATE inbox SET claims = claims + 1 WHERE turn_id = ?", (turn_id,))
    return int(db.execute("SELECT max(claims) FROM inbox WHERE turn_id = ?", (turn_id,)).get or 0)


def note_lost_worker(db: Database, turn_id: str, problem: str, now: int) -> None:
    """Note in a turn's history that its worker was lost, whether that counts as a death or not."""
    db.execute(
        "INSERT INTO transition(at, kind, number, turn_id, state, note)"
        " SELECT ?, 'turn', 0, id, state, ? FROM turn WHERE id = ?",
        (now, f"{LOST_WORKER}{problem}", turn_id),
    )


def reply(
    db: Database,
    turn: Turn,
    parts: Sequence[outbox.Part],
    mode: str,
    end: tuple[str, str | None],
    now: int,
    *,
    repaired: bool = False,
    known: TurnTranscript | None = None,
) -> None:
    """End a turn with its reply (T6): outbox rows, turn, inbox row and session, together.

    Without ``parts`` it ends silently. ``mode`` is ``edit``, ``direct`` or `outbox.STORED`; ``end``
    is the stop reason, and the error if there was one. ``repaired`` tells that the answer was made
    from one that was cut or not valid JSON. ``known`` is what the turn is in the journal, if the
    caller has read it.

    Raises:
        FencedError: the turn no longer belongs to this epoch.
    """
    _end(db, turn, "replied", *end, now)
    if repaired:
        db.execute("UPDATE turn SET repaired = 1 WHERE id = ?", (turn.id,))
    known = known or transcript.read(db, turn.id)
    if known.unfinished:
        steps.abandon(db, turn.id, "the turn ended before this call ran", now)
        known = transcript.read(db, turn.id)
    outbox.add(db, turn.id, known.rows[0].address(), parts, mode, now)
    if not parts:
        outbox.close_silent(db, turn.id, now)
    inbox.end(db, inbox.CLAIMED_BY, turn.id, "done", None, now)
    if turn.recipe == "interactive":  # a task's instructions must not appear as a user's message
        sent = "\n".join(part.text for part in parts if not part.voice)
        messages = transcript.of_turn(db, turn.id, known, sent)
        sessions.append(db, turn.session_id, turn.id, messages, now)


def dead_letter(db: Database, turn: Turn, reason: str, notice: str | None, now: int) -> None:
    """Make a turn and its message dead and queue ``notice``, if any, for its chat.

    Raises:
        FencedError: the turn no longer belongs to this epoch.
    """
    _end(db, turn, "dead", "dead", reason, now)
    steps.abandon(db, turn.id, "the turn was given up", now)
    if notice is not None:
        address = origin(db, turn.id).address()
        outbox.add(db, turn.id, address, [outbox.Part(notice, markdown=False)], "direct", now)
    inbox.end(db, inbox.CLAIMED_BY, turn.id, "dead", reason, now)
    audit.record(db, "dispatcher", f"dead letter: {reason}", f"turn {turn.id}", now)


def park(db: Database, turn: Turn, why: str) -> None:
    """Let a running turn wait, without a worker; ``why`` is what for, such as ``approval``.

    Raises:
        FencedError: the turn is no longer run here.
    """
    change = "state = 'waiting', wait = ?, ready_at = coalesce(ready_at, ?)"
    _change(db, turn, change, why, turn.ready_at)


def unpark(db: Database, turn: Turn, now: int) -> None:
    """Continue a waiting turn, with its whole time again.

    Raises:
        FencedError: the turn does not wait here.
    """
    _change(db, turn, "state = 'running', wait = NULL", before="waiting")
    extend(db, turn, now)


def extend(db: Database, turn: Turn, now: int) -> None:
    db.execute(
        "UPDATE turn SET deadline = ? + allowed WHERE id = ? AND epoch = ?",
        (now, turn.id, turn.epoch),
    )


def origin(db: Database, turn_id: str) -> InboxRow:
    return inbox.of_turn(db, turn_id)[0]


def open_count(db: Database) -> int:
    return int(db.execute(f"SELECT count(*) FROM turn WHERE {OPEN}").get)


def _end(
    db: Database, turn: Turn, state: str, stop_reason: str, error: str | None, now: int
) -> None:
    change = "state = ?, stop_reason = ?, error = ?, ended_at = ?, ready_at = coalesce(ready_at, ?)"
    _change(db, turn, change, state, stop_reason, error, now, turn.ready_at)


def _change(
    db: Database, turn: Turn, change: str, *values: object, before: str = "running"
) -> None:
    """Change a turn if it still is in the state ``before`` and in its epoch."""
    sql = f"UPDATE turn SET {change} WHERE id = ? AND epoch = ? AND state = ?"
    db.execute(sql, (*values, turn.id, turn.epoch, before))
    if db.changes() != 1:
        raise FencedError(f"turn {turn.id} is no longer run here")


def close_preview(db: Database, turn_id: str, ending: ReplyPart) -> bool:
    """End the preview of a cancelled turn with a last text; return whether there was one.

    One that was not sent yet is abandoned.
    """
    db.execute(
        "UPDATE outbox SET body = ?, rendered = ?, final = 1,"
        " ended_at = iif(state = 'queued', created_at, NULL),"
        f" state = iif(state = 'queued', 'abandoned', state) WHERE {outbox.PREVIEW}",
        (ending.text, ending.rendered, turn_id),
    )
    return bool(db.changes())


def keep_unfinished(
    db: Database,
    turn_id: str,
    ending: ReplyPart,
    mode: Callable[[outbox.Address], str],
    now: int,
) -> None:
    """Store what a cancelled turn had written, where its chat is read in the journal."""
    sql = "SELECT 1 FROM turn WHERE id = ? AND recipe = 'interactive' AND state = 'cancelled'"
    if db.execute(sql, (turn_id,)).get is None:
        return
    address = origin(db, turn_id).address()
    if mode(address) == outbox.STORED:
        part = outbox.Part(ending.text, rendered=ending.rendered)
        outbox.add_extra(db, turn_id, address, [part], outbox.STORED, now)


def _close_previews(db: Database) -> None:
    """Close at boot the previews of cancelled turns that the last process left open."""
    rows = db.execute(
        "SELECT turn_id, body FROM outbox JOIN turn ON turn.id = turn_id"
        " WHERE final = 0 AND turn.state = 'cancelled'"
    )
    for turn_id, body in list(rows):
        shown = str(body).removesuffix(outbox.UNFINISHED)
        close_preview(db, turn_id, ReplyPart(f"{shown}\n\n{STOPPED}".strip()))
