"""``orchestrator pair``: admit chats that wrote to the bot, or shut them out."""

from typing import Annotated

import typer

from orchestrator.cli._client import ask, order
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import minute, printable
from orchestrator.cli._tables import listing
from orchestrator.control import protocol

app = command_group("pair")


@app.command("list")
def list_pairings(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the chats that asked for admission, with the decisions."""
    found = ask(load_settings(home), protocol.PAIR_LIST, None, protocol.PairingList)
    listing(
        found,
        "Pairings",
        ("channel", "chat", "name", "state", "code", "asked (UTC)"),
        (
            (pair.channel, pair.chat_id, pair.name, pair.state, pair.code, minute(pair.created_at))
            for pair in found.pairings
        ),
        empty="no chat has asked for admission yet",
        as_json=as_json,
    )


@app.command()
def approve(
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code that the chat received.")],
    *,
    home: Home = None,
) -> None:
    """Admit the chat that received this code."""
    settings, params = load_settings(home), protocol.PairCode(code=code)
    chat = ask(settings, protocol.PAIR_APPROVE, params, protocol.PairedChat)
    typer.echo(printable(f"{chat.channel} chat {chat.chat_id} is admitted"))


@app.command()
def revoke(
    channel: Annotated[
        str, typer.Argument(metavar="CHANNEL", help="The chat's channel, such as telegram.")
    ],
    chat_id: Annotated[
        str, typer.Argument(metavar="CHAT_ID", help="The chat's id, from the list.")
    ],
    *,
    home: Home = None,
) -> None:
    """Revoke a chat's admission."""
    chat = protocol.PairedChat(channel=channel, chat_id=chat_id)
    order(load_settings(home), protocol.PAIR_REVOKE, chat)
    typer.echo(f"{channel} chat {chat_id} is not admitted any more")
