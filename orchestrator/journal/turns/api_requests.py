"""HTTP requests of programs: each is a message of the channel ``api``, with its outcome.

A request that continues another one is in the same queue. The conversation before a request is read
from the earlier requests, so that it makes no difference whether the client or the server keeps it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import orjson
from pydantic import Field, Json

from orchestrator.channel_api import InboundMessage
from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.rows import Rows
from orchestrator.journal.turns import api_conversations, inbox, sessions, steps
from orchestrator.journal.turns.api_conversations import OtherConversationError
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.turns import Turn
from thinker.protocol import messages as wire
from thinker.protocol.messages import (
    Frozen,
    JsonObject,
    Message,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from thinker.protocol.methods import RequestOptions, StopReason, TurnResult

CHANNEL = "api"
QUEUE = "api/"  # begins the name of a conversation's queue
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

    ``repaired``: whether ``text`` was made from an answer that was cut or not valid JSON.
    """

    text: str
    stop_reason: StopReason
    calls: tuple[HandedCall, ...] = ()
    usage: Usage = Usage()
    error: str | None = None
    repaired: bool = False


class NewRequest(NamedTuple):
    """A request that is not stored yet; ``user`` is the client's name of its end user."""

    id: str
    agent_id: str
    body: Body
    digest: str
    user: str = ""
    idem_key: str | None = None
    previous_id: str | None = None
    conversation: str | None = None

    @property
    def made_conversation(self) -> str | None:
        """Its conversation, if that must have been made before."""
        name = self.conversation
        return name if name and name.startswith(api_conversations.PREFIX) else None

    @property
    def own_chat(self) -> str | None:
        """The chat of a request without a conversation; None if it continues others."""
        alone = self.previous_id is None and self.conversation is None
        return inbox.chat_key(CHANNEL, "local", self.id, None) if alone else None


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


@dataclass(frozen=True)
class Progress:
    """The state and error of a request's message, the ``wait`` of its turn, and its outcome."""

    state: str
    wait: str | None
    outcome: Json[Outcome] | None
    error: str | None


REQUESTS = Rows(
    Request,
    JOINED,
    "request.id, previous_id, conversation, body, outcome, target, turn_id, chat_key,"
    f" {USER}, received_at",
)
PROGRESS = Rows(
    Progress,
    f"{JOINED} LEFT JOIN turn ON turn.id = turn_id",
    "inbox.state, wait, outcome, inbox.error",
)


class KeyReusedError(OrchestratorError):
    """An Idempotency-Key that was used for a different request."""


class UnknownPreviousError(OrchestratorError):
    """The previous request is not the user's, or was sent with ``store: false``."""


def receive(db: Database, new: NewRequest, now: int) -> tuple[str, int]:
    """Store a request (T1), unless one with its key is stored already.

    Returns the id and time (milliseconds) of the stored request.

    Raises:
        KeyReusedError: the key was used for a different request.
        UnknownPreviousError: the previous request is not stored.
        UnknownConversationError: its conversation was never made, or was deleted.
        OtherConversationError: its conversation is with another agent, or of another user.
    """
    if new.idem_key is not None:
        query = f"SELECT request.id, digest, received_at FROM {JOINED} WHERE idem_key = ?"
        found = db.execute(query, (new.idem_key,)).fetchone()
        if found is not None:
            if found[1] != new.digest:
                raise KeyReusedError("this Idempotency-Key was used for a different request")
            return str(found[0]), int(found[2])
    previous, queue = _place(db, new)
    if new.made_conversation:
        waiting = api_conversations.take(db, new.made_conversation, new.id)
        messages = (*waiting, *new.body.messages)
        new = new._replace(body=new.body.model_copy(update={"messages": messages}))
    texts = (item.content for item in reversed(new.body.messages) if isinstance(item, UserMessage))
    message = InboundMessage(
        channel=CHANNEL,
        bot_id="local",
        chat_id=new.id,
        message_id=new.id,
        sender_id=new.user or CLIENT,
        sender_name=new.user,
        text=next(texts, ""),
        kind=inbox.REQUEST,
        private=False,
        target=new.agent_id,
    )
    row, body = inbox.store(db, Arrival(message), now, queue), new.body.model_dump_json()
    db.execute(
        "INSERT INTO request(inbox_id, id, idem_key, digest, previous_id, conversation, body)"
        " VALUES(?,?,?,?,?,?,?)",
        (row, new.id, new.idem_key, new.digest, previous, new.conversation, body),
    )
    return new.id, now


def _place(db: Database, new: NewRequest) -> tuple[str | None, str | None]:
    """Return the previous request, and its queue or that of the conversation."""
    if new.previous_id is not None:
        found = of_id(db, new.previous_id)
        own = found is not None and (found.agent_id, found.user) == (new.agent_id, new.user)
        if found is None or not own or not found.body.store:
            raise UnknownPreviousError(f"there is no stored response {new.previous_id!r}")
        return new.previous_id, found.chat_key
    if new.conversation is None:
        return None, None
    if new.made_conversation:
        _require_same(db, new)
    before = db.execute(
        f"SELECT request.id FROM {JOINED} WHERE conversation = ? AND target = ? AND {USER} = ?"
        " ORDER BY inbox_id DESC LIMIT 1",
        (new.conversation, new.agent_id, new.user),
    ).get
    queue = f"{QUEUE}{new.agent_id}/{new.conversation}" + (f"/{new.user}" if new.user else "")
    return (None if before is None else str(before)), queue


def _require_same(db: Database, new: NewRequest) -> None:
    first = REQUESTS.first(db, "conversation = ? ORDER BY inbox_id LIMIT 1", new.conversation)
    if first is not None and (first.agent_id, first.user) != (new.agent_id, new.user):
        whose = (
            f"with the agent {first.agent_id!r}" if first.user == new.user else "of another user"
        )
        raise OtherConversationError(f"the conversation is one {whose}; make another one")


def progress(db: Database, request_id: str) -> Progress:
    return PROGRESS.select(db, "request.id = ?", request_id)[0]


def of_turn(db: Database, turn_id: str) -> Request | None:
    """Return the request that a turn answers, if it answers one."""
    return REQUESTS.first(db, "turn_id = ? AND after_step IS NULL", turn_id)


def of_id(db: Database, request_id: str) -> Request | None:
    return REQUESTS.first(db, "request.id = ?", request_id)


def of_conversation(db: Database, conversation: str) -> list[Request]:
    """Return the requests of a conversation, the oldest first."""
    return REQUESTS.select(db, "conversation = ? ORDER BY inbox_id", conversation)


def disown(db: Database, request_id: str) -> None:
    """Let no request read or continue this one any more; retention removes it with its turn."""
    body = db.execute("SELECT body FROM request WHERE id = ?", (request_id,)).get
    if body is not None:
        kept = orjson.dumps(orjson.loads(body) | {"store": False}).decode()
        db.execute("UPDATE request SET body = ? WHERE id = ?", (kept, request_id))


def hand_back(
    db: Database, turn: Turn, tools: Sequence[ToolSpec], now: int
) -> tuple[HandedCall, ...]:
    """Finish the planned calls of a client's tools, within T6, and return them for the client."""
    names = {tool.name for tool in tools}
    calls = []
    for call in steps.planned(db, turn.id):
        if call.name not in names:
            continue
        result = ToolResult(call_id=call.call_id, name=call.name, content=HANDED_BACK)
        steps.intend(db, turn.id, call.seq, turn.epoch, now)
        steps.finish(db, call, result, now)
        text = orjson.dumps(call.arguments).decode()
        calls.append(HandedCall(id=public_id(turn.id, call.seq), name=call.name, arguments=text))
    return tuple(calls)


def end(db: Database, turn: Turn, outcome: Outcome, now: int) -> None:
    """Store the outcome of a request, and end its session, which has no messages."""
    db.execute(
        "UPDATE request SET outcome = ? WHERE inbox_id IN(SELECT id FROM inbox WHERE turn_id = ?)",
        (outcome.model_dump_json(), turn.id),
    )
    sessions.end(db, turn.agent_id, turn.chat_key, now)


def outcome(result: TurnResult, text: str, calls: Sequence[HandedCall] = ()) -> Outcome:
    return Outcome(
        text=text,
        stop_reason=result.stop_reason,
        calls=tuple(calls),
        usage=result.usage,
        error=result.error,
        repaired=result.repaired,
    )


def public_id(turn_id: str, seq: int) -> str:
    """Return the id of a call for clients, as the ids of models are not unique."""
    return f"call_{turn_id}_{seq}"
