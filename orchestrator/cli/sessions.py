"""``orchestrator sessions``: the stored conversations of agents with chats."""

import json
from typing import Annotated

import typer

from orchestrator.cli._agents import require_agent
from orchestrator.cli._direct_journal import change
from orchestrator.cli._options import AsJson, Home, chat_named, command_group, load_settings
from orchestrator.cli._output import count, minute, printable
from orchestrator.cli._prose import say
from orchestrator.cli._tables import listing, print_json
from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import SESSION_END, RowId
from orchestrator.errors import UnknownNameError
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import conversations
from orchestrator.journal.inspect.conversations import Line, StoredSession
from orchestrator.journal.opening import reading
from thinker.protocol.messages import AssistantMessage, JsonObject, Message, ToolResult, UserMessage
from thinker.protocol.names import turn_name

MAX_DIGITS = 18  # of a number that the journal can hold
SHOWN = 500  # characters of a tool's result or arguments
Name = Annotated[
    str, typer.Argument(metavar="ID|CHAT", help="Number from the list, or a chat: telegram:123.")
]

app = command_group("sessions")


class SessionReport(CamelModel):
    """One conversation in ``sessions list --json``; times in milliseconds since the epoch."""

    id: int
    agent_id: str
    chat: str
    started_at: int
    ended_at: int | None
    last_at: int
    messages: int
    tokens: int
    summary: str | None


class LineReport(CamelModel):
    """One message in ``sessions show --json``; ``at`` in milliseconds since the epoch."""

    at: int
    turn_id: str | None
    message: Message


@app.command("list")
def list_sessions(
    *,
    agent: Annotated[str | None, typer.Option(help="Show only this agent.")] = None,
    ended: Annotated[bool, typer.Option("--ended", help="Show those that ended, too.")] = False,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """List the conversations, the one with the newest message first."""
    settings = load_settings(home)
    with reading(settings.journal) as db:
        found = conversations.listed(db, agent, ended=ended)
    if agent is not None and not found:
        require_agent(settings, agent)
    listing(
        {"sessions": list(map(SessionReport.from_object, found))},
        "Conversations",
        ("id", "agent", "chat", "messages", "last (UTC)", "state"),
        (
            (i.id, i.agent_id, i.chat, i.messages, minute(i.last_at / 1000), _state(i))
            for i in found
        ),
        empty="no agent has a conversation" if agent is None else f"{agent} has no conversation",
        as_json=as_json,
    )


@app.command()
def show(
    name: Name,
    *,
    limit: Annotated[int, typer.Option(help="How many messages to show.", min=1)] = 50,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Print a conversation's newest messages, with tool calls, and its summary."""
    with reading(load_settings(home).journal) as db:
        found = _found(db, name)
        lines = conversations.lines(db, found.id, limit)
    if as_json:
        shown = list(map(LineReport.from_object, lines))
        print_json({"session": SessionReport.from_object(found), "messages": shown})
        return
    total = count(found.messages, "message")
    since = minute(found.started_at / 1000)
    state = _state(found)
    typer.echo(f"conversation {found.id} of {found.agent_id} in {printable(found.chat)}")
    typer.echo(f"{total} since {since} UTC, {state}\n")
    if found.summary:
        say(f"Summary of what came before:\n{_indented(found.summary)}\n")
    for line in lines:
        say(_text(line))


@app.command()
def end(name: Name, *, home: Home = None) -> None:
    """End a conversation as /new in its chat does: the next message starts a new one.

    Its messages stay in the journal, and the agent keeps the facts that it has stored.
    """
    settings = load_settings(home)
    with reading(settings.journal) as db:
        found = _found(db, name)
    change(settings, SESSION_END, RowId(id=found.id), conversations.end, found.id)
    say(f"the next message in {found.chat} starts a new conversation")


def _found(db: Database, name: str) -> StoredSession:
    """Return the conversation of a number, or the open one of a chat.

    Raises:
        UnknownNameError: there is none, or the chat has several.
    """
    if name.isascii() and name.isdecimal():
        return conversations.load(db, int(name[:MAX_DIGITS]))
    open_ones = conversations.listed(db, None, ended=False)
    queues = {one.chat_key for one in open_ones}
    chat = name if name in queues else str(chat_named([name]))
    found = [one for one in open_ones if chat in (one.chat, one.chat_key)]
    if not found:
        raise UnknownNameError(
            f"{chat} has no open conversation; see: orchestrator sessions list --ended"
        )
    if len(found) > 1:
        numbers = "\n".join(f"{one.id}: with {one.agent_id}" for one in found)
        raise UnknownNameError(f"{chat} has several conversations; write one of\n{numbers}")
    return found[0]


def _state(found: StoredSession) -> str:
    return "open" if found.ended_at is None else "ended"


def _text(line: Line) -> str:
    """Return a message with who wrote it and when."""
    turn = f" [{turn_name(line.turn_id)}]" if line.turn_id else ""
    return (
        f"{minute(line.at / 1000)}  {_author(line.message)}{turn}\n{_indented(_said(line.message))}"
    )


def _author(message: Message) -> str:
    if isinstance(message, UserMessage):
        return message.sender or "person"
    return message.name if isinstance(message, ToolResult) else "agent"


def _said(message: Message) -> str:
    if isinstance(message, ToolResult):
        return _cut(message.content)
    if not isinstance(message, AssistantMessage):
        pictures = f"\n[{count(len(message.images), 'picture')}]" if message.images else ""
        files = [f"[{document.about}]" for document in message.documents]
        return "\n".join(filter(None, (message.content + pictures, *files)))
    calls = (f"-> {call.name} {_cut(_json(call.arguments))}" for call in message.tool_calls)
    return "\n".join(filter(None, (message.content, *calls)))


def _json(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines()) + "\n"
