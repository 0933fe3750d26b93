"""``orchestrator sessions``: the stored conversations of agents with chats."""

import json
from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import change_journal
from orchestrator.cli.known_agents import require_agent
from orchestrator.cli.options import AsJson, Home, load_settings, parse_chat
from orchestrator.cli.output import format_count, format_minute, make_printable, print_text
from orchestrator.cli.tables import Columns, describe_record, print_json, print_listing
from orchestrator.control.protocol import RowId
from orchestrator.errors import UnknownNameError
from orchestrator.extensions.reports import conversations
from orchestrator.extensions.reports.conversations import ConversationLine, StoredSession
from orchestrator.extensions.reports.reports_part import SESSION_END
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import open_for_reading
from thinker.protocol.messages import AssistantMessage, JsonObject, Message, ToolResult, UserMessage
from thinker.protocol.names import format_turn_name

MAX_DIGITS = 18  # of a number that the journal can hold
SHOWN = 500  # characters of a tool's result or arguments
Name = Annotated[
    str, typer.Argument(metavar="ID|CHAT", help="Number from the list, or a chat: telegram:123.")
]

app = make_command_group("sessions")


@app.command("list")
def list_sessions(
    *,
    agent: Annotated[str | None, typer.Option(help="Show only this agent.")] = None,
    ended: Annotated[bool, typer.Option("--ended", help="Also show those that ended.")] = False,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """List the conversations, the one with the newest message first."""
    settings = load_settings(home)
    with open_for_reading(settings.journal) as db:
        found = conversations.list_conversations(db, agent, ended=ended)
    if agent is not None and not found:
        require_agent(settings, agent)
    print_listing(
        "Conversations",
        found,
        COLUMNS,
        key="sessions",
        empty="there are no conversations" if agent is None else f"{agent} has no conversation",
        as_json=as_json,
        describe=_describe_session,
    )


@app.command()
def show(
    name: Name,
    *,
    limit: Annotated[int, typer.Option(help="Number of messages to show.", min=1)] = 50,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Print a conversation's newest messages, with tool calls, and its summary."""
    with open_for_reading(load_settings(home).journal) as db:
        found = _load_session(db, name)
        lines = conversations.list_conversation_lines(db, found.id, limit)
    if as_json:
        shown = list(map(describe_record, lines))
        print_json({"session": _describe_session(found), "messages": shown})
        return
    total = format_count(found.messages, "message")
    since = format_minute(found.started_at / 1000)
    state = _describe_state(found)
    typer.echo(f"conversation {found.id} of {found.agent_id} in {make_printable(found.chat)}")
    typer.echo(f"{total} since {since} UTC, {state}\n")
    if found.summary:
        print_text(f"Summary of what came before:\n{_indent_text(found.summary)}\n")
    for line in lines:
        print_text(_format_line(line))


@app.command()
def end(name: Name, *, home: Home = None) -> None:
    """End a conversation as /new in its chat does: the next message starts a new one.

    Its messages stay in the journal, and the agent keeps the facts it stored.
    """
    settings = load_settings(home)
    with open_for_reading(settings.journal) as db:
        found = _load_session(db, name)
    change_journal(
        settings, SESSION_END, RowId(id=found.id), conversations.end_conversation, found.id
    )
    print_text(f"the next message in {found.chat} starts a new conversation")


def _load_session(db: Database, name: str) -> StoredSession:
    """Return the conversation with a number, or the open one of a chat.

    Raises:
        UnknownNameError: the conversation does not exist, or the chat has several.
    """
    if name.isascii() and name.isdecimal():
        return conversations.load_conversation(db, int(name[:MAX_DIGITS]))
    open_ones = conversations.list_conversations(db, None, ended=False)
    queues = {one.chat_key for one in open_ones}
    chat = name if name in queues else str(parse_chat([name]))
    found = [one for one in open_ones if chat in (one.chat, one.chat_key)]
    if not found:
        raise UnknownNameError(
            f"{chat} has no open conversation; see: orchestrator sessions list --ended"
        )
    if len(found) > 1:
        numbers = "\n".join(f"{one.id}: with {one.agent_id}" for one in found)
        raise UnknownNameError(f"{chat} has several conversations; write one of\n{numbers}")
    return found[0]


def _describe_session(found: StoredSession) -> dict[str, object]:
    return describe_record(found, renamed={"chat_key": "chat"}, chat=found.chat)


def _describe_state(found: StoredSession) -> str:
    return "open" if found.ended_at is None else "ended"


def _format_line(line: ConversationLine) -> str:
    """Return a message with its author and time."""
    turn = f" [{format_turn_name(line.turn_id)}]" if line.turn_id else ""
    head = f"{format_minute(line.at / 1000)}  {_format_author(line.message)}{turn}"
    return f"{head}\n{_indent_text(_format_message(line.message))}"


def _format_author(message: Message) -> str:
    if isinstance(message, UserMessage):
        return message.sender or "person"
    return message.name if isinstance(message, ToolResult) else "agent"


def _format_message(message: Message) -> str:
    if isinstance(message, ToolResult):
        return _shorten_text(message.content)
    if not isinstance(message, AssistantMessage):
        pictures = f"\n[{format_count(len(message.images), 'picture')}]" if message.images else ""
        files = [f"[{document.about}]" for document in message.documents]
        return "\n".join(filter(None, (message.content + pictures, *files)))
    calls = (
        f"-> {call.name} {_shorten_text(_format_json(call.arguments))}"
        for call in message.tool_calls
    )
    return "\n".join(filter(None, (message.content, *calls)))


def _format_json(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shorten_text(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _indent_text(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines()) + "\n"


COLUMNS: Columns = {
    "id": "id",
    "agent": "agent_id",
    "chat": "chat",
    "messages": "messages",
    "last (UTC)": lambda found: format_minute(found.last_at / 1000),
    "state": _describe_state,
}
