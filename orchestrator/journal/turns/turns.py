"""Turns: one message (or task) of one chat on its way to an answer.

``running ⇄ waiting → replied → closed``; or ``failed | cancelled | dead``. At most one turn of a
chat is open. Every change is fenced by the epoch: a supervisor that was replaced changes nothing.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from orchestrator.journal.db import audit
from orchestrator.journal.db.store import FencedError
from orchestrator.journal.turns import (
    attachments,
    inbox,
    outbox,
    sessions,
    steps,
    transcript,
    usage,
)
from orchestrator.journal.turns.inbox import InboxRow
from thinker.protocol.messages import Message, UserMessage
from thinker.protocol.methods import RecordedStep

STOPPED = "(stopped)"  # ends what a chat sees of a cancelled turn
OPEN = "state IN('running','waiting')"  # as the index of open turns has it
COLUMNS = "id, agent_id, chat_key, session_id, recipe, state, epoch, deadline, started_at"


@dataclass(frozen=True)
class Turn:
    """An open turn; times in milliseconds."""

    id: str
    agent_id: str
    chat_key: str
    session_id: int
    recipe: str
    state: str
    epoch: int
    deadline: int
    started_at: int


@dataclass(frozen=True)
class TurnAdmission:
    """What T2 needs to open a turn; ``minutes`` bounds its wall clock."""

    turn_id: str
    agent_id: str
    epoch: int
    minutes: float
    code_version: str
    recipe: str = "interactive"


@dataclass(frozen=True)
class Context:
    """Everything of the journal that a turn's worker is sent."""

    turn: Turn
    messages: tuple[InboxRow, ...]
    said: tuple[UserMessage, ...]
    history: tuple[Message, ...]
    summary: str | None
    steps: tuple[RecordedStep, ...]
    recent_tools: tuple[str, ...]


def new_id(now: int) -> str:
    """An id for a turn that begins now (milliseconds): later ones are greater.

    So what belongs to the turns of one time stands together on disk, as with UUID version 7.
    """
    return f"{now:012x}{secrets.token_hex(10)}"


def boot(db: apsw.Connection, now: int) -> int:
    """T0: a new epoch; turns of older ones are adopted and half-sent messages classified."""
    epoch = int(db.execute("SELECT v FROM meta WHERE k = 'epoch'").get or 0) + 1
    db.execute(
        "INSERT INTO meta VALUES('epoch', ?) ON CONFLICT DO UPDATE SET v = excluded.v",
        (str(epoch),),
    )
    db.execute(  # the time that nobody was here does not count against a turn's deadline
        "UPDATE turn SET epoch = ?, deadline = ? + allowed, state = 'running', wait = NULL"
        f" WHERE {OPEN}",
        (epoch, now),
    )
    usage.lose_of_open_turns(db)
    outbox.recover(db, now)
    _close_previews(db)
    return epoch


def admit(db: apsw.Connection, row: InboxRow, admission: TurnAdmission, now: int) -> Turn | None:
    """T2: open a turn for the message that is next in line; None if the chat has one open."""
    session_id = sessions.current(db, admission.agent_id, row.chat_key, now)
    allowed = round(admission.minutes * 60_000)
    try:
        db.execute(
            "INSERT INTO turn(id, agent_id, chat_key, session_id, recipe, state, epoch, deadline,"
            " allowed, code_ver, started_at) VALUES(?,?,?,?,?,'running',?,?,?,?,?)",
            (
                admission.turn_id,
                admission.agent_id,
                row.chat_key,
                session_id,
                admission.recipe,
                admission.epoch,
                now + allowed,
                allowed,
                admission.code_version,
                now,
            ),
        )
    except apsw.ConstraintError:
        return None
    db.execute(
        "UPDATE inbox SET state = 'claimed', agent_id = ?, turn_id = ?"
        " WHERE id = ? AND state = 'new'",
        (admission.agent_id, admission.turn_id, row.id),
    )
    if db.changes() != 1:
        raise FencedError(f"inbox row {row.id} was taken by somebody else")
    return load(db, admission.turn_id)


def load(db: apsw.Connection, turn_id: str) -> Turn:
    """A turn that exists."""
    (row,) = db.execute(f"SELECT {COLUMNS} FROM turn WHERE id = ?", (turn_id,))
    return Turn(*row)


def open_in(db: apsw.Connection, chat_key: str) -> Turn | None:
    """The chat's running turn: one that a dead process left behind, seen from a new lane."""
    found = db.execute(
        f"SELECT {COLUMNS} FROM turn WHERE chat_key = ? AND {inbox.RUNNING}", (chat_key,)
    ).fetchone()
    return Turn(*found) if found else None


def context(
    db: apsw.Connection,
    turn_id: str,
    running: frozenset[int],
    window: int,
    now: int,
    jump: int = 1,
) -> Context:
    """Settle what a dead process left of a turn and read everything needed to go on.

    ``window`` and ``jump`` are those of `sessions.window`.
    """
    steps.recover(db, turn_id, running, now)
    turn = load(db, turn_id)
    rows = tuple(inbox.of_turn(db, turn_id))
    return Context(
        turn=turn,
        messages=rows,
        said=tuple(attachments.said(db, row.id, row.text) for row in rows),
        history=sessions.window(db, turn.session_id, window, jump),
        summary=sessions.summary(db, turn.session_id),
        steps=transcript.recorded(db, turn_id),
        recent_tools=sessions.recent_tools(db, turn.session_id, 3),
    )


def process_died(db: apsw.Connection, turn_id: str) -> int:
    """Count a process death while this turn's message was claimed; returns the count."""
    usage.lose(db, turn_id)
    db.execute("UPDATE inbox SET claims = claims + 1 WHERE turn_id = ?", (turn_id,))
    return int(db.execute("SELECT max(claims) FROM inbox WHERE turn_id = ?", (turn_id,)).get or 0)


def reply(
    db: apsw.Connection,
    turn: Turn,
    parts: Sequence[outbox.Part],
    mode: str,
    end: tuple[str, str | None],
    now: int,
    *,
    repaired: bool = False,
) -> None:
    """T6: the reply's messages, the turn, its inbox row and the session, together.

    ``end`` is the stop reason and, when something went wrong, what; ``repaired`` an answer that
    was made from one that was cut or no JSON.

    Raises:
        FencedError: the turn is not this epoch's any more.
    """
    _end(db, turn, "replied", *end, now)
    if repaired:
        db.execute("UPDATE turn SET repaired = 1 WHERE id = ?", (turn.id,))
    rows = inbox.of_turn(db, turn.id)
    steps.abandon(db, turn.id, "the turn ended before this call ran", now)
    outbox.add(db, turn.id, rows[0].address(), parts, mode, now)
    if not parts:
        outbox.close_silent(db, turn.id, now)
    db.execute(
        "UPDATE inbox SET state = 'done', ended_at = ? WHERE turn_id = ? AND state = 'claimed'",
        (now, turn.id),
    )
    if turn.recipe == "interactive":  # a task's instructions must not come back as a user's words
        sent = "\n".join(part.text for part in parts)
        said = transcript.of_turn(db, turn.id, rows, sent)
        sessions.append(db, turn.session_id, turn.id, said, now)


def dead_letter(db: apsw.Connection, turn: Turn, reason: str, notice: str | None, now: int) -> None:
    """Dead-letter a turn that keeps killing its worker: its chat is told, if any, and goes on.

    Raises:
        FencedError: the turn is not this epoch's any more.
    """
    _end(db, turn, "dead", "dead", reason, now)
    steps.abandon(db, turn.id, "the turn was given up", now)
    if notice is not None:
        address = origin(db, turn.id).address()
        outbox.add(db, turn.id, address, [outbox.Part(notice, markdown=False)], "direct", now)
    db.execute(
        "UPDATE inbox SET state = 'dead', ended_at = ?, error = ?"
        " WHERE turn_id = ? AND state = 'claimed'",
        (now, reason, turn.id),
    )
    audit.record(db, "dispatcher", f"dead letter: {reason}", f"turn {turn.id}", now)


def park(db: apsw.Connection, turn: Turn, why: str) -> None:
    """The turn waits for somebody (``approval``) and nobody runs it meanwhile."""
    _move(db, turn, "running", "waiting", why)


def unpark(db: apsw.Connection, turn: Turn, now: int) -> None:
    """The turn goes on, with its whole time again."""
    _move(db, turn, "waiting", "running", None)
    extend(db, turn, now)


def _move(db: apsw.Connection, turn: Turn, before: str, after: str, wait: str | None) -> None:
    db.execute(
        "UPDATE turn SET state = ?, wait = ? WHERE id = ? AND epoch = ? AND state = ?",
        (after, wait, turn.id, turn.epoch, before),
    )
    if db.changes() != 1:
        raise FencedError(f"turn {turn.id} is no longer run here")


def extend(db: apsw.Connection, turn: Turn, now: int) -> None:
    """Give a turn that could not run its whole time again."""
    db.execute(
        "UPDATE turn SET deadline = ? + allowed WHERE id = ? AND epoch = ?",
        (now, turn.id, turn.epoch),
    )


def origin(db: apsw.Connection, turn_id: str) -> InboxRow:
    """The message that a turn answers."""
    return inbox.of_turn(db, turn_id)[0]


def open_count(db: apsw.Connection) -> int:
    """How many turns are running or waiting."""
    return int(db.execute(f"SELECT count(*) FROM turn WHERE {OPEN}").get)


def _end(
    db: apsw.Connection, turn: Turn, state: str, stop_reason: str, error: str | None, now: int
) -> None:
    db.execute(
        "UPDATE turn SET state = ?, stop_reason = ?, error = ?, ended_at = ?"
        " WHERE id = ? AND epoch = ? AND state = 'running'",
        (state, stop_reason, error, now, turn.id, turn.epoch),
    )
    if db.changes() != 1:
        raise FencedError(f"turn {turn.id} is no longer run here")


def close_preview(db: apsw.Connection, turn_id: str, shown: str) -> None:
    """Let the preview of a cancelled turn, if a chat has one, end with what it last showed."""
    db.execute(
        "UPDATE outbox SET body = ?, final = 1, ended_at = iif(ph_id IS NULL, t_sending, NULL),"
        " state = iif(ph_id IS NULL, 'abandoned', 'ph_sent') WHERE turn_id = ? AND final = 0",
        (f"{shown}\n\n{STOPPED}".strip(), turn_id),
    )


def _close_previews(db: apsw.Connection) -> None:
    """At boot: those that the process did not come to close before it died."""
    rows = db.execute(
        "SELECT turn_id, body FROM outbox JOIN turn ON turn.id = turn_id"
        " WHERE final = 0 AND turn.state = 'cancelled'"
    )
    for turn_id, body in list(rows):
        close_preview(db, turn_id, str(body).removesuffix(outbox.UNFINISHED))
