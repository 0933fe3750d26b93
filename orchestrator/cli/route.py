"""``orchestrator route``."""

from typing import Annotated

import typer

from orchestrator.agentsfile import load
from orchestrator.channel_api import InboundMessage
from orchestrator.cli._direct_journal import moved_chats
from orchestrator.cli._options import Config, Home, command_group, environment, load_settings
from orchestrator.cli._output import printable
from orchestrator.routing import explain

app = command_group("route")


@app.command("explain")
def explain_route(
    channel: Annotated[
        str, typer.Argument(metavar="CHANNEL", help="telegram, console, web or api.")
    ],
    chat_id: Annotated[str, typer.Argument(metavar="CHAT_ID", help="The chat's id.")],
    *,
    thread: Annotated[str | None, typer.Option(help="Id of a thread in the chat.")] = None,
    config: Config = None,
    home: Home = None,
) -> None:
    """Show which binding of agents.json applies to a chat, and why."""
    settings = load_settings(home, config)
    moved = moved_chats(settings)
    file = load(settings.agents_file(), environment(settings), moved).file
    chat_id = moved.get(chat_id, chat_id) if channel == "telegram" else chat_id
    message = InboundMessage(
        channel=channel, bot_id="", chat_id=chat_id, message_id="", sender_id="", thread_id=thread
    )
    for line in explain(file.bindings, message, file.usable(), file.fallback_agent_id):
        typer.echo(printable(line))
