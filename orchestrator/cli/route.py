"""``orchestrator route``."""

from typing import Annotated

import typer

from orchestrator.agentsfile import Channels, load
from orchestrator.agentsfile.problems import field_names, suggestion
from orchestrator.channel_api import InboundMessage
from orchestrator.cli._direct_journal import moved_chats, paired_chats
from orchestrator.cli._options import (
    ChatWords,
    Config,
    Home,
    chat_named,
    command_group,
    environment,
    load_settings,
)
from orchestrator.cli._prose import say
from orchestrator.errors import UnknownNameError
from orchestrator.inbound.admission import AdmissionDecision, judge
from orchestrator.routing import explain

app = command_group("route")


@app.command("explain")
def explain_route(
    name: ChatWords,
    *,
    thread: Annotated[str | None, typer.Option(help="Id of a thread in the chat.")] = None,
    config: Config = None,
    home: Home = None,
) -> None:
    """Show which binding of agents.json applies to a chat, and why."""
    chat = chat_named(name)
    settings = load_settings(home, config)
    moved = moved_chats(settings)
    file = load(settings.agents_file(), environment(settings), moved).file
    known = field_names(Channels)
    if chat.channel not in known:
        hint = suggestion(chat.channel, known, f"there are {', '.join(known)}")
        raise UnknownNameError(f"there is no channel {chat.channel!r}{hint}")
    first = moved.get(chat.chat_id, chat.chat_id) if chat.channel == "telegram" else chat.chat_id
    message = InboundMessage(
        channel=chat.channel,
        bot_id="",
        chat_id=first,
        message_id="",
        sender_id="",
        thread_id=thread or chat.thread_id or None,
    )
    for line in explain(file.bindings, message, file.usable(), file.fallback_agent_id):
        say(line)
    admission = judge(file, message, paired_chats(settings))
    if admission.verdict is not AdmissionDecision.ADMIT:
        others = "; only people who are admitted themselves are answered there"
        advice = others if first.startswith("-") else ", see: orchestrator pair list"
        say(f"but the chat is not admitted: {admission.reason}{advice}")
