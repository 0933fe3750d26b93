"""MCP tools for chats and for calls that wait for approval.

A caller who is not the operator sees only its own chats. A chat is named by its key in the
journal, and a caller's own chats by the names that the caller gave them, which have no slash.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.channel_api import ReplyPart
from orchestrator.control import listings, protocol
from orchestrator.control.console import MAX_TEXT
from orchestrator.control.operations import DaemonOperations
from orchestrator.control.roles import Right
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.mcp_server.mcp_caller import McpAnswer, McpCaller, McpToolCall
from orchestrator.extensions.mcp_server.mcp_channel import McpChannel
from orchestrator.extensions.mcp_server.withdrawal import Act
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import chat_history
from orchestrator.journal.inspect.chat_history import ChatPlace, InboundLine, TurnTalk
from orchestrator.journal.turns import inbox, outbox, questions
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import Address, OutboxPart
from thinker.protocol.messages import JsonObject

DAEMON = "orchestrator"  # who says a notice
MAX_SHOWN = 4000  # characters of a message
MAX_EXCERPT = 200  # characters of a chat's newest message
LOG = "sent"  # the caller's own chat with its messages to others
NO_CHAT = "unknown chat {name!r}; see list_chats"
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
    """No arguments."""

    model_config = ConfigDict(extra="forbid")


class ApprovalVerdict(BaseModel):
    """An answer to a question about waiting calls."""

    model_config = ConfigDict(extra="forbid")

    code: str = Field(max_length=64, description="The question's code, as list_approvals shows it.")
    grant: bool = Field(description="true lets its calls run once, false refuses all of them.")
    note: str = Field("", max_length=500, description="Why; the agent's model is told.")


@dataclass(frozen=True)
class OperatorTools:
    """The handlers. ``wake`` is called when the outbox has changed; ``act`` as in `AgentTalk`."""

    daemon: DaemonOperations
    channel: McpChannel
    act: Act
    wake: Callable[[], None]

    async def list_chats(self, call: McpToolCall) -> McpAnswer:
        wanted, caller = ChatList.model_validate(call.arguments), call.caller
        own = None if caller.has_right(Right.READ) else caller.own_chats.removesuffix("/")
        found = await self.daemon.store.search(chat_history.list_chats, wanted.before, own)
        chats: list[JsonObject] = [
            {
                "chat": _format_chat_name(caller, chat.key),
                "from": chat.sender or "person",
                "text": _cut_text(chat.text, MAX_EXCERPT),
                "at": _format_time(chat.at),
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
            OrchestratorError: the chat does not exist, or the caller may not read it.
        """
        wanted, caller = ChatRead.model_validate(call.arguments), call.caller
        key = _build_chat_key(caller, wanted.chat)
        if not caller.has_right(Right.READ) and not key.startswith(caller.own_chats):
            raise OrchestratorError(NO_CHAT.format(name=wanted.chat))
        place = None
        if wanted.before is not None:
            place = ChatPlace(*map(int, wanted.before.split(".")))
        page = await self.daemon.store.read(chat_history.load_history_page, key, place)
        if not page.turns and place is None:
            raise OrchestratorError(NO_CHAT.format(name=wanted.chat))
        lines = sorted(
            (line for talk in page.turns for line in _build_lines(talk)), key=_get_line_time
        )
        texts = (f"{line['at']} {line['from']}: {line['text']}" for line in lines)
        before = None if page.before is None else str(page.before)
        return McpAnswer(("\n".join(texts),), {"messages": [*lines], "before": before})

    async def send_to_chat(self, call: McpToolCall) -> McpAnswer:
        """Send a message to the people of a chat, once even if the call is repeated.

        Raises:
            OrchestratorError: the chat does not exist, or the text is empty.
        """
        wanted, caller = ChatNote.model_validate(call.arguments), call.caller
        key = _build_chat_key(caller, wanted.chat)
        store, now = self.daemon.store, self.daemon.clock()
        address = await store.read(_find_chat_address, key)
        if address is not None and key.startswith(caller.own_chats):
            raise OrchestratorError(OWN.format(name=wanted.chat))
        adapter = None if address is None else self.daemon.adapters.get(address.channel)
        if address is None or adapter is None:
            raise OrchestratorError(NO_CHAT.format(name=wanted.chat))
        parts = adapter.split(wanted.text)
        if not parts:
            raise OrchestratorError("text is empty; write what to send")
        stored = outbox.STORED if adapter.is_delivered_when_stored(address.chat_id) else "direct"
        message = self.channel.build_message(caller.owner, LOG, call.build_key(), wanted.text)
        send = partial(_insert_note, address, parts, stored, caller.owner, now)
        arrival = Arrival(message, command=send)
        await store.transact_once(inbox.ingest, [arrival], None, now)
        adapter.wake_waiting_clients(address.chat_id)
        self.wake()
        return McpAnswer((f"queued for delivery to {wanted.chat}",), {"chat": wanted.chat})

    async def list_approvals(self, call: McpToolCall) -> McpAnswer:
        NoArguments.model_validate(call.arguments)
        found = await self.daemon.store.transact(listings.list_approvals, self.daemon.clock())
        waiting: JsonObject = {"calls": found.model_dump(mode="json", by_alias=True)["approvals"]}
        lines = [
            f"{item.code}: {item.agent_id} in {item.chat} wants"
            f" {'; '.join(map(_format_asked_call, item.calls))}"
            for item in found.approvals
        ]
        return McpAnswer(("\n".join(lines) or "no calls wait for approval",), waiting)

    async def answer_approval(self, call: McpToolCall) -> McpAnswer:
        """Grant or deny the calls of a question.

        Raises:
            OrchestratorError: no waiting call has this code.
        """
        decision = ApprovalVerdict.model_validate(call.arguments)
        code, now = decision.code, self.daemon.clock()
        named = await self.daemon.store.read(questions.name_open_question, code, now)
        if named is None:
            raise OrchestratorError(f"no call has the code {code!r}; see list_approvals")
        asked: JsonObject = {"code": code, "granted": decision.grant, "note": decision.note}
        await self.act(call.caller.owner, protocol.APPROVAL_DECIDE, asked)
        word = "granted" if decision.grant else "denied"
        return McpAnswer((f"{word}: {named}",), {"code": code, "decision": word})


def _format_asked_call(call: protocol.AskedCallReport) -> str:
    marks = "".join(f", {one.argument}: {one.source}" for one in call.sources)
    return f"{call.tool} {call.arguments} ({call.reason}{marks})"


def _insert_note(
    address: Address,
    parts: tuple[ReplyPart, ...],
    mode: str,
    owner: str,
    now: int,
    db: Database,
) -> None:
    messages = [OutboxPart(part.text, rendered=part.rendered) for part in parts]
    outbox.add_extra(db, None, address, messages, mode, now)
    audit.record_decision(db, f"mcp:{owner}", "wrote to a chat", address.name, now)


def _build_chat_key(caller: McpCaller, name: str) -> str:
    """Return the key of a chat by the caller's name for it."""
    return name if "/" in name else f"{caller.own_chats}{name}/"


def _format_chat_name(caller: McpCaller, key: str) -> str:
    own = caller.own_chats
    return key.removeprefix(own).removesuffix("/") if key.startswith(own) else key


def _build_lines(talk: TurnTalk) -> list[JsonObject]:
    agent = talk.agent_id or DAEMON
    asked: list[JsonObject] = [
        _build_line(line.at, _name_sender(line), line.text) for line in talk.asked
    ]
    said: list[JsonObject] = [
        _build_line(line.at, DAEMON if line.notice else agent, line.text) for line in talk.said
    ]
    return asked + said


def _name_sender(line: InboundLine) -> str:
    return line.sender or ("person" if line.kind == "message" else line.kind)


def _build_line(at: int, author: str, text: str) -> JsonObject:
    return {"at": _format_time(at), "from": author, "text": _cut_text(text, MAX_SHOWN)}


def _get_line_time(line: JsonObject) -> str:
    return str(line["at"])


def _format_time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")


def _cut_text(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def _find_chat_address(db: Database, key: str) -> outbox.Address | None:
    """Return the address for messages to a chat, if any message ever came from it."""
    parts = (*key.split("/", 2), "", "")[:3]
    where = "channel = ? AND bot_id = ? AND chat_id = ? AND chat_key = ? ORDER BY id DESC LIMIT 1"
    row = inbox.INBOX.find_first(db, where, *parts[:2], parts[2].rpartition("/")[0], key)
    return None if row is None else row.build_address()
