"""Turns: one message (or task) of one chat on its way to an answer.

``running ⇄ waiting → replied → closed``; or ``failed | cancelled | dead``. At most one turn of a
chat is open. Every change is fenced by the epoch: a replaced supervisor changes no row.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.channel_api import ReplyPart
from orchestrator.journal.db import audit, liveness
from orchestrator.journal.db.database import Database, Rows, ask_ahead, require_change
from orchestrator.journal.db.store import FencedError
from orchestrator.journal.turns import inbox, outbox, owners, sessions, steps, usage
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.sessions import TurnTranscript
from orchestrator.placement import Share
from thinker.protocol.messages import AssistantMessage, Message, Origin, UserMessage
from thinker.protocol.methods import RecordedStep, StopReason

STOPPED = "(stopped)"  # ends the visible text of a cancelled turn
LOST_WORKER = "worker lost: "  # begins the note of a lost worker in a turn's history
OPEN = "state IN('running','waiting')"  # the condition of the index of open turns
RECENT_TURNS = 3  # turns of a session whose tools are offered again
SCOPES = {  # of messages that are not a person's
    inbox.TASK: "SELECT task.scope FROM task_run JOIN task ON task.id = task_id WHERE inbox_id = ?",
    inbox.SUBAGENT: "SELECT scope FROM subagent_run AS run JOIN turn ON turn.id = run.turn_id"
    " WHERE inbox_id = ?",
}


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
class StoredTurn:
    """The journal's data for the worker of a turn."""

    turn: Turn
    messages: tuple[InboxRow, ...]
    said: tuple[UserMessage, ...]
    history: tuple[Message, ...]
    summary: str | None
    summary_origin: Origin
    steps: tuple[RecordedStep, ...]
    recent_tools: tuple[str, ...]
    window: tuple[int, int] | None = None  # the first and the last message of the history

    @property
    def has_pictures(self) -> bool:
        """Whether the model may need to see pictures."""
        read = (*self.history, *self.said)
        pictured = [one for one in read if not isinstance(one, AssistantMessage) and one.images]
        return bool(self.steps or pictured)

    def list_messages(self) -> list[Message]:
        """Return the messages that the model reads, oldest first."""
        messages: list[Message] = [*self.history, *self.said]
        for step in self.steps:
            messages += [call.result for call in step.calls if call.result is not None]
            messages += step.entered
        return messages


def make_turn_id(now: int, random: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """Return an id for a turn that begins now (milliseconds); later ids are greater.

    Rows of turns of one time are then close together on disk, as with UUID version 7.
    """
    return f"{now:012x}{random(10).hex()}"


def boot(db: Database, now: int, share: Share | None = None) -> int:
    """Begin a new epoch (T0), and take over what a share has, by default everything."""
    epoch = liveness.begin_epoch(db)
    take_over(db, epoch, now, share)
    return epoch


def take_over(db: Database, epoch: int, now: int, share: Share | None = None) -> None:
    """Adopt the open turns of a share, and classify its half-sent messages."""
    found = db.execute(f"SELECT id, {owners.OF_TURN} FROM turn WHERE {OPEN}").fetchall()
    open_turns = [str(turn_id) for turn_id, owner in found if owners.is_owned(owner, share)]
    adopt_turns(db, open_turns, epoch, now)
    outbox.recover_sending_rows(db, now, share)
    _close_previews(db, share)


def adopt_turns(db: Database, turn_ids: Sequence[str], epoch: int, now: int) -> None:
    """Let the process of an epoch run open turns; another one writes no more for them."""
    db.executemany(  # time without a daemon does not count against a turn's deadline
        "UPDATE turn SET epoch = ?, deadline = ? + allowed, state = 'running', wait = NULL"
        " WHERE id = ?",
        [(epoch, now, turn_id) for turn_id in turn_ids],
    )
    for turn_id in turn_ids:
        usage.mark_reservation_lost(db, turn_id)


def admit_message(db: Database, row: InboxRow, admission: TurnAdmission, now: int) -> Turn | None:
    """Open a turn for a message (T2); None if the chat has an open turn.

    Raises:
        FencedError: the message is no longer new.
    """
    scope = _find_scope(db, row)
    allowed = round(admission.minutes * 60_000)
    turn = Turn(
        id=admission.turn_id,
        agent_id=admission.agent_id,
        chat_key=row.chat_key,
        session_id=sessions.open_session(db, admission.agent_id, row.chat_key, now, scope),
        recipe=admission.recipe,
        state="running",
        epoch=admission.epoch,
        deadline=now + allowed,
        started_at=now,
        scope=scope,
    )
    opened = db.execute(
        "INSERT INTO turn(id, agent_id, chat_key, session_id, recipe, state, epoch, deadline,"
        " allowed, code_ver, started_at, scope) VALUES(:id, :agent_id, :chat_key, :session_id,"
        " :recipe, :state, :epoch, :deadline, :allowed, :code_ver, :started_at, :scope)"
        " ON CONFLICT DO NOTHING RETURNING 1",
        vars(turn) | {"allowed": allowed, "code_ver": admission.code_version},
    )
    claimed = db.execute(
        "UPDATE inbox SET state = 'claimed', agent_id = ?1, turn_id = ?2 WHERE id = ?3"
        " AND state = 'new' AND EXISTS(SELECT 1 FROM turn WHERE id = ?2) RETURNING 1",
        (admission.agent_id, admission.turn_id, row.id),
    )
    if opened.get is None:
        return None
    if claimed.get is None:
        raise FencedError(f"inbox row {row.id} is no longer new")
    return turn


def find_hindrances(db: Database, chat_key: str) -> tuple[bool, bool]:
    """Return whether a chat was handed over, and whether any agent is paused; both are rare."""
    handed, paused = db.execute(inbox.HINDRANCES, (chat_key,)).get
    return bool(handed), bool(paused)


def _find_scope(db: Database, row: InboxRow) -> str:
    """Return the scope of a message: a task has its own, a subagent its parent's."""
    sql = SCOPES.get(row.kind)
    found = None if sql is None else db.execute(sql, (row.id,)).get
    return row.scope if found is None else str(found)


def load_turn(db: Database, turn_id: str) -> Turn:
    return TURNS.select(db, "id = ?", turn_id)[0]


def find_open_turn(db: Database, chat_key: str) -> Turn | None:
    """Return the chat's running turn, such as one that a dead process left."""
    return TURNS.find_first(db, f"chat_key = ? AND {inbox.RUNNING}", chat_key)


def load_stored_turn(
    db: Database, turn_id: str, running: frozenset[int], window: int, now: int, jump: int = 1
) -> StoredTurn:
    """Settle the calls of a dead process, and read what a worker needs to continue.

    ``running`` are the calls that this process is still running; ``window`` and ``jump`` are as in
    `sessions.list_history`.
    """
    steps.recover_calls(db, turn_id, running, now)
    return _add_session(
        db, load_turn(db, turn_id), sessions.load_transcript(db, turn_id), (window, jump)
    )


def load_new_turn(
    db: Database, turn: Turn, row: InboxRow, window: int, jump: int = 1
) -> StoredTurn:
    """Read what a worker needs for a newly opened turn."""
    return _add_session(db, turn, TurnTranscript((row,), ()), (window, jump))


def _add_session(
    db: Database, turn: Turn, known: TurnTranscript, window: tuple[int, int]
) -> StoredTurn:
    """Add the earlier content of its session to a turn."""
    sessions.ask_for_history(db, turn.session_id, *window, RECENT_TURNS)
    summary, origin = sessions.load_summary(db, turn.session_id)
    history = sessions.load_history_window(db, turn.session_id, *window)
    opening = known.opening_rows
    return StoredTurn(
        turn=turn,
        messages=opening,
        said=tuple([row.build_user_message(db) for row in opening]),
        history=history.messages,
        summary=summary,
        summary_origin=origin,
        steps=known.steps,
        recent_tools=sessions.list_recent_tools(db, turn.session_id, RECENT_TURNS)
        or history.inherited_tools,
        window=history.span,
    )


def count_process_death(db: Database, turn_id: str) -> int:
    """Count a death of the process that ran a turn, and return the count of its message."""
    usage.mark_reservation_lost(db, turn_id)
    db.execute("UPDATE inbox SET claims = claims + 1 WHERE turn_id = ?", (turn_id,))
    return int(db.execute("SELECT max(claims) FROM inbox WHERE turn_id = ?", (turn_id,)).get or 0)


def note_lost_worker(db: Database, turn_id: str, problem: str, now: int) -> None:
    """Note in a turn's history that its worker was lost, whether that counts as a death or not."""
    db.execute(
        "INSERT INTO transition(at, kind, number, turn_id, state, note)"
        " SELECT ?, 'turn', 0, id, state, ? FROM turn WHERE id = ?",
        (now, f"{LOST_WORKER}{problem}", turn_id),
    )


def end_with_reply(
    db: Database,
    turn: Turn,
    parts: Sequence[outbox.OutboxPart],
    mode: str,
    end: tuple[str, str | None],
    now: int,
    *,
    repaired: bool = False,
    known: TurnTranscript | None = None,
) -> None:
    """End a turn with its reply (T6): outbox rows, turn, inbox row and session, together.

    Without ``parts`` it ends silently. ``mode`` is ``edit``, ``direct`` or `outbox.STORED`; ``end``
    is the stop reason, and the error if there was one. ``repaired`` says that the answer was made
    from one that was cut or not valid JSON. ``known`` is the turn's journal data, if the caller has
    read it.

    Raises:
        FencedError: the turn no longer belongs to this epoch.
    """
    _end(db, turn, "replied", *end, now)
    if repaired:
        db.execute("UPDATE turn SET repaired = 1 WHERE id = ?", (turn.id,))
    known = known or sessions.load_transcript(db, turn.id)
    if known.has_calls and known.has_unfinished_calls:
        steps.abandon_calls(db, turn.id, "the turn ended before this call ran", now)
        known = sessions.load_transcript(db, turn.id)
    outbox.add_reply(db, turn.id, known.rows[0].build_address(), parts, mode, now)
    if not parts:
        outbox.close_silent_turn(db, turn.id, now)
    inbox.end_messages(db, inbox.CLAIMED_BY, turn.id, "done", None, now)
    if turn.recipe == "interactive":  # a task's instructions must not appear as a user's message
        sent = "\n".join([part.text for part in parts if not (part.voice or part.notice)])
        messages = sessions.build_session_messages(db, turn.id, known, sent)
        if end[0] == StopReason.OVERFLOW or (end[0] == StopReason.REFUSED and not sent):
            long = end[0] == StopReason.OVERFLOW
            messages = [sessions.replace_unread_message(one, long=long) for one in messages]
        sessions.append_messages(db, turn.session_id, turn.id, messages, now)
    ask_ahead(db, (usage.COST, (turn.id,)), (inbox.HAS_WORK, (turn.chat_key,)))


def end_as_dead_letter(db: Database, turn: Turn, reason: str, notice: str | None, now: int) -> None:
    """Make a turn and its message dead and queue ``notice``, if any, for its chat.

    Raises:
        FencedError: the turn no longer belongs to this epoch.
    """
    _end(db, turn, "dead", "dead", reason, now)
    steps.abandon_calls(db, turn.id, "the turn was given up", now)
    if notice is not None:
        address = load_opening_message(db, turn.id).build_address()
        part = outbox.OutboxPart(notice, markdown=False, notice=True)
        outbox.add_reply(db, turn.id, address, [part], "direct", now)
    inbox.end_messages(db, inbox.CLAIMED_BY, turn.id, "dead", reason, now)
    audit.record_decision(db, "dispatcher", f"dead letter: {reason}", f"turn {turn.id}", now)


def park(db: Database, turn: Turn, why: str) -> None:
    """Park a running turn without a worker; ``why`` is the reason, such as ``approval``.

    Raises:
        FencedError: another process runs the turn.
    """
    change = "state = 'waiting', wait = ?, ready_at = coalesce(ready_at, ?)"
    _update_turn(db, turn, change, why, turn.ready_at)


def unpark(db: Database, turn: Turn, now: int) -> None:
    """Continue a waiting turn, with its full time again.

    Raises:
        FencedError: the turn is not waiting in this process.
    """
    _update_turn(db, turn, "state = 'running', wait = NULL", before="waiting")
    extend_deadline(db, turn, now)


def extend_deadline(db: Database, turn: Turn, now: int) -> None:
    db.execute(
        "UPDATE turn SET deadline = ? + allowed WHERE id = ? AND epoch = ?",
        (now, turn.id, turn.epoch),
    )


def load_opening_message(db: Database, turn_id: str) -> InboxRow:
    return inbox.list_opening_messages(db, turn_id)[0]


def has_open_turn(db: Database, chat_key: str) -> bool:
    """Return whether a chat has a turn that runs or waits."""
    query = f"SELECT 1 FROM turn WHERE chat_key = ? AND {OPEN}"
    return db.execute(query, (chat_key,)).get is not None


def count_open_turns(db: Database) -> int:
    return int(db.execute(f"SELECT count(*) FROM turn WHERE {OPEN}").get)


def _end(
    db: Database, turn: Turn, state: str, stop_reason: str, error: str | None, now: int
) -> None:
    change = "state = ?, stop_reason = ?, error = ?, ended_at = ?, ready_at = coalesce(ready_at, ?)"
    _update_turn(db, turn, change, state, stop_reason, error, now, turn.ready_at)


def _update_turn(
    db: Database, turn: Turn, change: str, *values: object, before: str = "running"
) -> None:
    """Update a turn if it is still in the state ``before`` and in its epoch."""
    sql = f"UPDATE turn SET {change} WHERE id = ? AND epoch = ? AND state = ?"
    db.execute(sql, (*values, turn.id, turn.epoch, before))
    require_change(db, FencedError(f"turn {turn.id} is no longer run here"))


def close_preview(db: Database, turn_id: str, ending: ReplyPart) -> bool:
    """End the preview of a cancelled turn with a last text; return whether there was one.

    An unsent preview is abandoned.
    """
    db.execute(
        "UPDATE outbox SET body = ?, rendered = ?, notice = ?, final = 1,"
        " ended_at = iif(state = 'queued', created_at, NULL),"
        f" state = iif(state = 'queued', 'abandoned', state) WHERE {outbox.PREVIEW}",
        (ending.text, ending.rendered, ending.text == STOPPED, turn_id),
    )
    return bool(db.changes())


def end_preview(
    db: Database,
    turn_id: str,
    ending: ReplyPart,
    mode: Callable[[outbox.Address], str],
    now: int,
    share: Share | None,
) -> None:
    """End the preview of a cancelled turn, or store its partial answer if it has none.

    The node that takes a turn's agent does so itself; ``share`` is what this one works for.
    """
    if not owners.is_turn_owned(db, turn_id, share) or close_preview(db, turn_id, ending):
        return
    if ending.text != STOPPED:
        _store_unfinished_text(db, turn_id, ending, mode, now)


def _store_unfinished_text(
    db: Database,
    turn_id: str,
    ending: ReplyPart,
    mode: Callable[[outbox.Address], str],
    now: int,
) -> None:
    """Store a cancelled turn's partial answer, where its chat is read from the journal."""
    sql = "SELECT 1 FROM turn WHERE id = ? AND recipe = 'interactive' AND state = 'cancelled'"
    if db.execute(sql, (turn_id,)).get is None:
        return
    address = load_opening_message(db, turn_id).build_address()
    if mode(address) == outbox.STORED:
        part = outbox.OutboxPart(ending.text, rendered=ending.rendered)
        outbox.add_extra(db, turn_id, address, [part], outbox.STORED, now)


def _close_previews(db: Database, share: Share | None) -> None:
    """Close the previews of cancelled turns that the last process left open."""
    rows = db.execute(
        f"SELECT turn_id, body, {owners.OF_TURN} FROM outbox JOIN turn ON turn.id = turn_id"
        " WHERE final = 0 AND turn.state = 'cancelled'"
    ).fetchall()
    for turn_id, body in [row[:2] for row in rows if owners.is_owned(row[2], share)]:
        shown = str(body).removesuffix(outbox.UNFINISHED)
        close_preview(db, turn_id, ReplyPart(f"{shown}\n\n{STOPPED}".strip()))
