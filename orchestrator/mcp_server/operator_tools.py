"""Tools for chats and for calls that wait for approval.

A caller who is not the operator sees its own chats alone. A chat is named by its key in the
journal, and a caller's own chats by the names that the caller gave them, which have no slash.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.channel_api import ReplyPart
from orchestrator.control import listings
from orchestrator.control.console import MAX_TEXT
from orchestrator.control.operations import DaemonOperations
from orchestrator.control.page_access import Right
from orchestrator.errors import OrchestratorError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import chat_history
from orchestrator.journal.inspect.chat_history import ChatPlace, SaidLine, TurnTalk
from orchestrator.journal.turns import inbox, outbox
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import Address, Part
from orchestrator.mcp_server.mcp_caller import McpAnswer, McpCaller, McpToolCall
from orchestrator.mcp_server.mcp_channel import McpChannel
from orchestrator.toolcalls.approvals import ApprovalQueue
from thinker.protocol.messages import JsonObject

SHOWN = 4000  # characters of a message
LISTED = 200  # characters of a chat's newest message
LOG = "sent"  # the caller's own chat in which stands what it wrote to others
NO_CHAT = "there is no chat {name!r}; list_chats shows them"
OWN = "{name!r} is your own conversation with an agent; call ask_AGENT with this chat to go on"


class ChatList(BaseModel):
    """Which chats to list."""

    model_config = ConfigDict(extra="forbid")

    before: int | None = Field(
        None, description="List chats older than this, as an earlier list returned it."
    )


class ChatRead(BaseModel):
    """A part of a chat."""

    model_config = ConfigDict(extra="forbid")

    chat: str = Field(max_length=500, description="The chat, as list_chats names it.")
    before: str | None = Field(
        None,
        pattern=r"^\d{1,18}\.\d{1,18}$",
        description="Read what is older than this, as an earlier reading returned it.",
    )


class ChatNote(BaseModel):
    """A text for the people of a chat."""

    model_config = ConfigDict(extra="forbid")

    chat: str = Field(max_length=500, description="The chat, as list_chats names it.")
    text: str = Field(max_length=MAX_TEXT, description="What to send, in Markdown.")


class NoArguments(BaseModel):
    """Nothing to choose."""

    model_config = ConfigDict(extra="forbid")


class ApprovalVerdict(BaseModel):
    """An answer to a waiting call."""

    model_config = ConfigDict(extra="forbid")

    code: str = Field(max_length=64, description="The call's code, as list_approvals shows it.")
    grant: bool = Field(description="true lets the call run once, false refuses it.")
    note: str = Field("", max_length=500, description="Why; the agent's model is told.")


@dataclass(frozen=True)
class OperatorTools:
    """The handlers. ``wake`` is called when the outbox or a waiting turn has changed."""

    daemon: DaemonOperations
    channel: McpChannel
    approvals: ApprovalQueue
    wake: Callable[[], None]

    async def list_chats(self, call: McpToolCall) -> McpAnswer:
        wanted, caller = ChatList.model_validate(call.arguments), call.caller
        own = None if caller.may(Right.READ) else caller.own_chats.removesuffix("/")
        found = await self.daemon.store.read(chat_history.chats, wanted.before, own)
        chats: list[JsonObject] = [
            {
                "chat": _name(caller, chat.key),
                "from": chat.sender or "person",
                "text": _cut(chat.text, LISTED),
                "at": _time(chat.at),
            }
            for chat in found
        ]
        before = found[-1].at if len(found) == chat_history.PAGE else None
        lines = [f"{c['chat']} ({c['at']}) {c['from']}: {c['text']}" for c in chats]
        return McpAnswer(
            ("\n".join(lines) or "there are no chats",), {"chats": [*chats], "before": before}
        )

    async def read_chat(self, call: McpToolCall) -> McpAnswer:
        """Read the newest messages of a chat, or older ones.

        Raises:
            OrchestratorError: there is no such chat, or the caller may not read it.
        """
        wanted, caller = ChatRead.model_validate(call.arguments), call.caller
        key = _key(caller, wanted.chat)
        if not caller.may(Right.READ) and not key.startswith(caller.own_chats):
            raise OrchestratorError(NO_CHAT.format(name=wanted.chat))
        place = None
        if wanted.before is not None:
            place = ChatPlace(*map(int, wanted.before.split(".")))
        page = await self.daemon.store.read(chat_history.page, key, place)
        if not page.turns and place is None:
            raise OrchestratorError(NO_CHAT.format(name=wanted.chat))
        lines = sorted((line for talk in page.turns for line in _lines(talk)), key=_at)
        texts = (f"{line['at']} {line['from']}: {line['text']}" for line in lines)
        before = None if page.before is None else str(page.before)
        return McpAnswer(("\n".join(texts),), {"messages": [*lines], "before": before})

    async def send_to_chat(self, call: McpToolCall) -> McpAnswer:
        """Send a text to the people of a chat, once however often the call is repeated.

        Raises:
            OrchestratorError: there is no such chat, or nothing to send.
        """
        wanted, caller = ChatNote.model_validate(call.arguments), call.caller
        key = _key(caller, wanted.chat)
        store, now = self.daemon.store, self.daemon.clock()
        address = await store.read(inbox.address_in, key)
        if address is not None and key.startswith(caller.own_chats):
            raise OrchestratorError(OWN.format(name=wanted.chat))
        adapter = None if address is None else self.daemon.adapters.get(address.channel)
        if address is None or adapter is None:
            raise OrchestratorError(NO_CHAT.format(name=wanted.chat))
        parts = adapter.split(wanted.text)
        if not parts:
            raise OrchestratorError("text is empty; write what to send")
        stored = outbox.STORED if adapter.delivered_when_stored(address.chat_id) else "direct"
        message = self.channel.message(caller.owner, LOG, call.key(), wanted.text)
        send = partial(_send, address, parts, stored, caller.owner, now)
        arrival = Arrival(message, command=send)
        await store.attempt(inbox.ingest, [arrival], None, now)
        adapter.replied(address.chat_id)
        self.wake()
        return McpAnswer((f"queued for delivery to {wanted.chat}",), {"chat": wanted.chat})

    async def list_approvals(self, call: McpToolCall) -> McpAnswer:
        NoArguments.model_validate(call.arguments)
        found = await self.daemon.store.transact(listings.questions, self.daemon.clock())
        waiting: JsonObject = {"calls": found.model_dump(mode="json", by_alias=True)["approvals"]}
        lines = [
            f"{item.code}: {item.agent_id} in {item.chat} wants {item.tool} {item.arguments}"
            f" ({item.reason})"
            for item in found.approvals
        ]
        return McpAnswer(("\n".join(lines) or "no call waits for approval",), waiting)

    async def answer_approval(self, call: McpToolCall) -> McpAnswer:
        """Grant or deny a waiting call.

        Raises:
            OrchestratorError: no call waits with this code.
        """
        decision = ApprovalVerdict.model_validate(call.arguments)
        decided = await self.approvals.decide(
            decision.code, f"mcp:{call.caller.owner}", granted=decision.grant, note=decision.note
        )
        if decided is None:
            raise OrchestratorError(
                f"no call waits with the code {decision.code!r}; list_approvals shows them"
            )
        self.wake()
        word = "granted" if decision.grant else "denied"
        return McpAnswer((f"{word}: {decided.tool}",), {"code": decision.code, "decision": word})


def _send(
    address: Address,
    parts: tuple[ReplyPart, ...],
    mode: str,
    owner: str,
    now: int,
    db: Database,
) -> None:
    messages = [Part(part.text, rendered=part.rendered) for part in parts]
    outbox.add_extra(db, None, address, messages, mode, now)
    audit.record(db, f"mcp:{owner}", "wrote to a chat", address.name, now)


def _key(caller: McpCaller, name: str) -> str:
    """Return the key of a chat that a caller names."""
    return name if "/" in name else f"{caller.own_chats}{name}/"


def _name(caller: McpCaller, key: str) -> str:
    own = caller.own_chats
    return key.removeprefix(own).removesuffix("/") if key.startswith(own) else key


def _lines(talk: TurnTalk) -> list[JsonObject]:
    agent = talk.agent_id or "orchestrator"
    asked: list[JsonObject] = [_line(line.at, _sender(line), line.text) for line in talk.asked]
    said: list[JsonObject] = [_line(line.at, agent, line.text) for line in talk.said]
    return asked + said


def _sender(line: SaidLine) -> str:
    return line.sender or ("person" if line.kind == "message" else line.kind)


def _line(at: int, author: str, text: str) -> JsonObject:
    return {"at": _time(at), "from": author, "text": _cut(text, SHOWN)}


def _at(line: JsonObject) -> str:
    return str(line["at"])


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
