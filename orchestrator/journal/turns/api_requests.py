"""Requests of programs over HTTP: a message of the channel ``api`` each, and what it came to.

A request that goes on from another one stands in its line. What came before it is read from the
requests themselves, so that a client that keeps its own history and one that leaves it to us are
the same case.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw
import orjson

from orchestrator.channel_api import InboundMessage
from orchestrator.errors import OrchestratorError
from orchestrator.journal.turns import inbox, sessions, steps
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.turns import Turn
from thinker.protocol.messages import (
    AUTO,
    Frozen,
    Message,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from thinker.protocol.methods import RequestOptions, StopReason, TurnResult

CHANNEL = "api"
LANE = "api/"  # begins the line of a conversation
HANDED_BACK = "handed back to the program that asked"  # what stands for the result of such a call
COLUMNS = "request.id, previous_id, body, outcome, target, turn_id"
JOINED = "request JOIN inbox ON inbox.id = inbox_id"


class Body(Frozen):
    """What was asked, in our shapes. ``store`` is whether other requests may go on from it."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = AUTO
    asked: RequestOptions = RequestOptions()
    stream: bool = False
    store: bool = False


class HandedCall(Frozen):
    """A call for the program to run; ``arguments`` is JSON text."""

    id: str
    name: str
    arguments: str


class Outcome(Frozen):
    """What a request came to; ``error`` says why ``text`` is no answer.

    ``repaired`` is one that was made from an answer that was cut or no JSON.
    """

    text: str
    stop_reason: StopReason
    calls: tuple[HandedCall, ...] = ()
    usage: Usage = Usage()
    error: str | None = None
    repaired: bool = False


@dataclass(frozen=True)
class NewRequest:
    """A request before it is stored; ``user`` is the program's name for whoever it asks for."""

    id: str
    agent_id: str
    body: Body
    digest: str
    user: str = ""
    idem_key: str | None = None
    previous_id: str | None = None
    conversation: str | None = None

    @property
    def own_chat(self) -> str | None:
        """The line in which it stands alone; None if it stands in one with others."""
        alone = self.previous_id is None and self.conversation is None
        return inbox.chat_key(CHANNEL, "local", self.id, None) if alone else None


@dataclass(frozen=True)
class Request:
    """A stored request."""

    id: str
    previous_id: str | None
    body: Body
    outcome: Outcome | None
    agent_id: str
    turn_id: str | None


@dataclass(frozen=True)
class Progress:
    """How far a request is: its message's state, its turn's ``wait``, its outcome, its error."""

    state: str
    wait: str | None
    outcome: Outcome | None
    error: str | None


class KeyReusedError(OrchestratorError):
    """An Idempotency-Key that stands for another request already."""


class UnknownPreviousError(OrchestratorError):
    """A request to go on from that does not exist, or was not to be kept."""


def receive(db: apsw.Connection, new: NewRequest, now: int) -> tuple[str, int]:
    """T1: store a request; its id and time (milliseconds), or those of one with the same key.

    Raises:
        KeyReusedError: the key stands for something else.
        UnknownPreviousError: there is nothing to go on from.
    """
    if new.idem_key is not None:
        query = f"SELECT request.id, digest, received_at FROM {JOINED} WHERE idem_key = ?"
        found = db.execute(query, (new.idem_key,)).fetchone()
        if found is not None:
            if found[1] != new.digest:
                raise KeyReusedError("this Idempotency-Key was used for a different request")
            return str(found[0]), int(found[2])
    previous, lane = _place(db, new)
    message = InboundMessage(
        channel=CHANNEL,
        bot_id="local",
        chat_id=new.id,
        message_id=new.id,
        sender_id=new.user or "api",
        text=_newest(new.body.messages),
        kind=inbox.REQUEST,
        private=False,
        target=new.agent_id,
    )
    row = inbox.store(db, Arrival(message), now, lane)
    db.execute(
        "INSERT INTO request(inbox_id, id, idem_key, digest, previous_id, conversation, body)"
        " VALUES(?,?,?,?,?,?,?)",
        (
            row,
            new.id,
            new.idem_key,
            new.digest,
            previous,
            new.conversation,
            new.body.model_dump_json(),
        ),
    )
    return new.id, now


def _place(db: apsw.Connection, new: NewRequest) -> tuple[str | None, str | None]:
    """The request before, and the line to stand in: its line, or that of the conversation."""
    if new.previous_id is not None:
        query = f"SELECT chat_key, body, target FROM {JOINED} WHERE request.id = ?"
        found = db.execute(query, (new.previous_id,)).fetchone()
        if (
            found is None
            or found[2] != new.agent_id
            or not Body.model_validate_json(found[1]).store
        ):
            raise UnknownPreviousError(f"there is no stored response {new.previous_id!r}")
        return new.previous_id, str(found[0])
    if new.conversation is None:
        return None, None
    before = db.execute(
        f"SELECT request.id FROM {JOINED} WHERE conversation = ? AND target = ?"
        " ORDER BY inbox_id DESC LIMIT 1",
        (new.conversation, new.agent_id),
    ).get
    lane = f"{LANE}{new.agent_id}/{new.conversation}"
    return (None if before is None else str(before)), lane


def progress(db: apsw.Connection, request_id: str) -> Progress:
    """How far a stored request is."""
    (found,) = db.execute(
        f"SELECT inbox.state, wait, outcome, inbox.error FROM {JOINED}"
        " LEFT JOIN turn ON turn.id = turn_id WHERE request.id = ?",
        (request_id,),
    )
    state, wait, outcome, error = found
    return Progress(state, wait, _outcome(outcome), error)


def of_turn(db: apsw.Connection, turn_id: str) -> Request | None:
    """The request that a turn answers, if it answers one."""
    return _select(db, "turn_id = ? AND after_step IS NULL", turn_id)


def of_id(db: apsw.Connection, request_id: str) -> Request | None:
    """A stored request."""
    return _select(db, "request.id = ?", request_id)


def hand_back(
    db: apsw.Connection, turn: Turn, tools: Sequence[ToolSpec], now: int
) -> tuple[HandedCall, ...]:
    """Within T6: the calls that the program is to run; their being told is their effect."""
    names = {tool.name for tool in tools}
    rows = list(
        db.execute(
            "SELECT seq FROM step WHERE turn_id = ? AND kind = 'tool' AND state = 'planned'",
            (turn.id,),
        )
    )
    calls = []
    for (seq,) in rows:
        call = steps.load_call(db, turn.id, seq)
        if call is None or call.name not in names:
            continue
        result = ToolResult(call_id=call.call_id, name=call.name, content=HANDED_BACK)
        steps.intend(db, turn.id, call.seq, turn.epoch, now)
        steps.finish(db, call, result, now)
        text = orjson.dumps(call.arguments).decode()
        calls.append(HandedCall(id=public_id(turn.id, call.seq), name=call.name, arguments=text))
    return tuple(calls)


def end(db: apsw.Connection, turn: Turn, outcome: Outcome, now: int) -> None:
    """Note what a request came to; its session, which holds nothing, ends with it."""
    db.execute(
        "UPDATE request SET outcome = ? WHERE inbox_id IN(SELECT id FROM inbox WHERE turn_id = ?)",
        (outcome.model_dump_json(), turn.id),
    )
    sessions.end(db, turn.agent_id, turn.chat_key, now)


def outcome(result: TurnResult, text: str, calls: Sequence[HandedCall] = ()) -> Outcome:
    """What a turn came to, for the program that asked."""
    return Outcome(
        text=text,
        stop_reason=result.stop_reason,
        calls=tuple(calls),
        usage=result.usage,
        error=result.error,
        repaired=result.repaired,
    )


def public_id(turn_id: str, seq: int) -> str:
    """A call's id outside: those of models repeat."""
    return f"call_{turn_id}_{seq}"


def _newest(messages: Sequence[Message]) -> str:
    said = (message for message in reversed(messages) if isinstance(message, UserMessage))
    return next(said, UserMessage(content="")).content


def _outcome(body: str | None) -> Outcome | None:
    return None if body is None else Outcome.model_validate_json(body)


def _select(db: apsw.Connection, where: str, value: str) -> Request | None:
    found = db.execute(f"SELECT {COLUMNS} FROM {JOINED} WHERE {where}", (value,)).fetchone()
    if found is None:
        return None
    request_id, previous, body, ended, target, turn_id = found
    return Request(
        id=request_id,
        previous_id=previous,
        body=Body.model_validate_json(body),
        outcome=_outcome(ended),
        agent_id=target,
        turn_id=turn_id,
    )
