"""Store requests of programs in the journal, and read their progress."""

from dataclasses import dataclass
from typing import NamedTuple

import orjson
from pydantic import Json

from orchestrator.channel_api import InboundMessage
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.http_api import api_conversations
from orchestrator.extensions.http_api.api_conversations import OtherConversationError
from orchestrator.extensions.http_api.stored_requests import (
    CLIENT,
    JOINED,
    REQUESTS,
    USER,
    Body,
    Outcome,
    Request,
    find_request,
)
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.inbox import Arrival
from thinker.protocol.messages import UserMessage

CHANNEL = "api"
QUEUE = "api/"  # begins the name of a conversation's queue


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
        """The request's conversation, if that must exist already."""
        name = self.conversation
        return name if name and name.startswith(api_conversations.PREFIX) else None

    @property
    def own_chat(self) -> str | None:
        """The chat of a request without a conversation; None if it continues others."""
        alone = self.previous_id is None and self.conversation is None
        return inbox.build_chat_key(CHANNEL, "local", self.id, None) if alone else None


@dataclass(frozen=True)
class RequestEntry:
    """The identity of a stored request; ``received_at`` in milliseconds."""

    id: str
    digest: str
    received_at: int


@dataclass(frozen=True)
class Progress:
    """The state and error of a request's message, the ``wait`` of its turn, and its outcome."""

    state: str
    wait: str | None
    outcome: Json[Outcome] | None
    error: str | None


ENTRIES = Rows(RequestEntry, JOINED, "request.id, digest, received_at")
PROGRESS = Rows(
    Progress,
    f"{JOINED} LEFT JOIN turn ON turn.id = turn_id",
    "inbox.state, wait, outcome, inbox.error",
)


class KeyReusedError(OrchestratorError):
    """An Idempotency-Key that was used for a different request."""


class UnknownPreviousError(OrchestratorError):
    """The previous request is not the user's, or was sent with ``store: false``."""


def store_request(db: Database, new: NewRequest, now: int) -> tuple[str, int]:
    """Store a request (T1), unless one with its key is stored already.

    Returns the id and time (milliseconds) of the stored request.

    Raises:
        KeyReusedError: the key was used for a different request.
        UnknownPreviousError: the previous request is not stored.
        UnknownConversationError: the conversation was never made, or was deleted.
        OtherConversationError: the conversation is with another agent, or of another user.
    """
    if new.idem_key is not None:
        found = ENTRIES.find_first(db, "idem_key = ?", new.idem_key)
        if found is not None:
            if found.digest != new.digest:
                raise KeyReusedError("this Idempotency-Key was used for a different request")
            return found.id, found.received_at
    previous, queue = _find_place(db, new)
    if new.made_conversation:
        waiting = api_conversations.take_waiting_items(db, new.made_conversation, new.id)
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
    row, body = inbox.store_arrival(db, Arrival(message), now, queue), new.body.model_dump_json()
    db.execute(
        "INSERT INTO request(inbox_id, id, idem_key, digest, previous_id, conversation, body)"
        " VALUES(?,?,?,?,?,?,?)",
        (row, new.id, new.idem_key, new.digest, previous, new.conversation, body),
    )
    return new.id, now


def _find_place(db: Database, new: NewRequest) -> tuple[str | None, str | None]:
    """Return the previous request, and its queue or that of the conversation."""
    if new.previous_id is not None:
        found = find_request(db, new.previous_id)
        own = found is not None and (found.agent_id, found.user) == (new.agent_id, new.user)
        if found is None or not own or not found.body.store:
            raise UnknownPreviousError(f"there is no stored response {new.previous_id!r}")
        return new.previous_id, found.chat_key
    if new.conversation is None:
        return None, None
    if new.made_conversation:
        _require_same_owner(db, new)
    newest = f"conversation = ? AND target = ? AND {USER} = ? ORDER BY inbox_id DESC LIMIT 1"
    before = ENTRIES.find_first(db, newest, new.conversation, new.agent_id, new.user)
    queue = f"{QUEUE}{new.agent_id}/{new.conversation}" + (f"/{new.user}" if new.user else "")
    return None if before is None else before.id, queue


def _require_same_owner(db: Database, new: NewRequest) -> None:
    first = REQUESTS.find_first(db, "conversation = ? ORDER BY inbox_id LIMIT 1", new.conversation)
    if first is not None and (first.agent_id, first.user) != (new.agent_id, new.user):
        whose = (
            f"with the agent {first.agent_id!r}" if first.user == new.user else "of another user"
        )
        raise OtherConversationError(f"the conversation is one {whose}; make another one")


def load_progress(db: Database, request_id: str) -> Progress:
    return PROGRESS.select(db, "request.id = ?", request_id)[0]


def list_conversation_requests(db: Database, conversation: str) -> list[Request]:
    """Return the requests of a conversation, the oldest first."""
    return REQUESTS.select(db, "conversation = ? ORDER BY inbox_id", conversation)


def disown_request(db: Database, request_id: str) -> None:
    """Let no other request read or continue this one; retention removes it with its turn."""
    body = db.execute("SELECT body FROM request WHERE id = ?", (request_id,)).get
    if body is not None:
        kept = orjson.dumps(orjson.loads(body) | {"store": False}).decode()
        db.execute("UPDATE request SET body = ? WHERE id = ?", (kept, request_id))
