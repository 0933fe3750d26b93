"""HTTP requests of programs: each is a message of the channel ``api``, with its outcome.

A request that continues another one is in the same queue. The conversation before a request is
read from the earlier requests, whether the client or the server keeps it.

Where: is an Idempotency-Key compared?
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from pydantic import Field, Json

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import sessions, steps
from orchestrator.journal.turns.turns import Turn
from thinker.protocol import messages as wire
from thinker.protocol.messages import (
    Frozen,
    JsonObject,
    Message,
    ToolResult,
    ToolSpec,
    Usage,
)
from thinker.protocol.methods import RequestOptions, StopReason, TurnResult

CLIENT = "api"  # the sender of requests without a user
# The user of a request: rows before schema 6 have it as the sender only.
USER = f"coalesce(nullif(sender_name, ''), nullif(sender_id, '{CLIENT}'), '')"
HANDED_BACK = "handed back to the client"  # stored as the result of a call that the client runs
JOINED = "request JOIN inbox ON inbox.id = inbox_id"


class Body(Frozen):
    """A request in the types of the worker; ``store``: whether other requests may continue it.

    ``metadata`` is the client's own.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: wire.ToolChoice = wire.AUTO
    asked: RequestOptions = RequestOptions()
    stream: bool = False
    store: bool = False
    metadata: JsonObject = Field(default_factory=dict)


class HandedCall(Frozen):
    """A call for the client to run; ``arguments`` is JSON text."""

    id: str
    name: str
    arguments: str


class Outcome(Frozen):
    """The outcome of a request; ``error`` is the reason if there is no answer.

    A ``notice`` is a text of the daemon. ``repaired``: whether ``text`` was made from an answer
    that was cut or not valid JSON.
    """

    text: str
    stop_reason: StopReason
    calls: tuple[HandedCall, ...] = ()
    usage: Usage = Usage()
    error: str | None = None
    notice: bool = False
    repaired: bool = False


@dataclass(frozen=True)
class Request:
    """A stored request; ``received_at`` in milliseconds."""

    id: str
    previous_id: str | None
    conversation: str | None
    body: Json[Body]
    outcome: Json[Outcome] | None
    agent_id: str
    turn_id: str | None
    chat_key: str
    user: str
    received_at: int


REQUESTS = Rows(
    Request,
    JOINED,
    "request.id, previous_id, conversation, body, outcome, target, turn_id, chat_key,"
    f" {USER}, received_at",
)


def find_request_of_turn(db: Database, turn_id: str) -> Request | None:
    """Return the request that a turn answers, if any."""
    return REQUESTS.find_first(db, "turn_id = ? AND after_step IS NULL", turn_id)


def find_request(db: Database, request_id: str) -> Request | None:
    return REQUESTS.find_first(db, "request.id = ?", request_id)


def hand_back_calls(
    db: Database, turn: Turn, tools: Sequence[ToolSpec], now: int
) -> tuple[HandedCall, ...]:
    """Finish the planned calls of a client's tools, within T6, and return them for the client."""
    names = {tool.name for tool in tools}
    calls = []
    for call in steps.list_planned_calls(db, turn.id):
        if call.name not in names:
            continue
        result = ToolResult(call_id=call.call_id, name=call.name, content=HANDED_BACK)
        steps.mark_intent(db, turn.id, call.seq, turn.epoch, now)
        steps.finish(db, call, result, now)
        text = orjson.dumps(call.arguments).decode()
        calls.append(
            HandedCall(id=build_public_id(turn.id, call.seq), name=call.name, arguments=text)
        )
    return tuple(calls)


def store_outcome(db: Database, turn: Turn, outcome: Outcome, now: int) -> None:
    """Store the outcome of a request, and end its empty session."""
    db.execute(
        "UPDATE request SET outcome = ? WHERE inbox_id IN(SELECT id FROM inbox WHERE turn_id = ?)",
        (outcome.model_dump_json(), turn.id),
    )
    sessions.end_session(db, turn.agent_id, turn.chat_key, now)


def build_outcome(result: TurnResult, text: str, calls: Sequence[HandedCall] = ()) -> Outcome:
    return Outcome(
        text=text,
        stop_reason=result.stop_reason,
        calls=tuple(calls),
        usage=result.usage,
        error=result.error,
        notice=result.notice,
        repaired=result.repaired,
    )


def build_public_id(turn_id: str, seq: int) -> str:
    """Return a call's public id, as ids of models are not unique."""
    return f"call_{turn_id}_{seq}"
