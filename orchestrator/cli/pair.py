"""``orchestrator pair``: admit chats that wrote to the bot, or shut them out."""

from typing import Annotated

import typer

from orchestrator.cli._client import ask
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import minute, printable
from orchestrator.cli._tables import listing
from orchestrator.control.protocol import (
    PAIR_APPROVE,
    PAIR_LIST,
    PAIR_REVOKE,
    Ack,
    PairCode,
    PairedChat,
    PairingList,
    PairingReport,
)

app = command_group()


@app.callback()
def _group() -> None:
    """Decide which chats may talk to the bot."""


@app.command("list")
def list_pairings(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the chats that asked for admission, with the decisions."""
    found = ask(load_settings(home), PAIR_LIST, None, PairingList)
    listing(
        found,
        "Pairings",
        ("channel", "chat", "name", "state", "code", "asked (UTC)"),
        map(_row, found.pairings),
        empty="no chat has asked for admission yet",
        as_json=as_json,
    )


def _row(item: PairingReport) -> tuple[object, ...]:
    created = minute(item.created_at)
    return (item.channel, item.chat_id, item.name, item.state, item.code, created)


@app.command()
def approve(
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code that the chat received.")],
    *,
    home: Home = None,
) -> None:
    """Admit the chat that received this code."""
    chat = ask(load_settings(home), PAIR_APPROVE, PairCode(code=code), PairedChat)
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
    ask(load_settings(home), PAIR_REVOKE, PairedChat(channel=channel, chat_id=chat_id), Ack)
    typer.echo(f"{channel} chat {chat_id} is not admitted any more")
