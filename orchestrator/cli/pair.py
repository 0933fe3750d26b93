"""``orchestrator pair``: admit chats that wrote to the bot, or revoke their access."""

from contextlib import suppress
from typing import Annotated

import typer

from orchestrator.agentsfile import AgentsFileError
from orchestrator.cli.client import ask_daemon, send_order
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import ask_or_read
from orchestrator.cli.options import (
    AsJson,
    ChatWords,
    Home,
    load_agents,
    load_settings,
    parse_whole_chat,
)
from orchestrator.cli.output import format_minute, print_text
from orchestrator.cli.tables import Columns, print_listing
from orchestrator.control import listings, protocol
from orchestrator.settings import Settings
from thinker.protocol.names import ChatName

NOT_ASKED = "no chats have asked for access"
OPERATOR = (
    "It is an operator's chat now: all commands work there, such as /pause and /approve (see /help)"
)
REFUSED = "; access is {access!r}, see channels.{channel} in agents.json{log}"
LOG = ". Refused senders are listed in: orchestrator logs"
COLUMNS: Columns = {
    "chat": lambda asked: ChatName(asked.channel, asked.chat_id),
    "name": "name",
    "state": "state",
    "code": "code",
    "asked (UTC)": lambda asked: format_minute(asked.created_at),
}

app = make_command_group("pair")


@app.command("list")
def list_pairings(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the chats that asked for admission, with the decisions."""
    settings = load_settings(home)
    found = ask_or_read(settings, protocol.PAIR_LIST, protocol.PairingList, listings.list_pairings)
    print_listing(
        "Pairings",
        found.pairings,
        COLUMNS,
        key="pairings",
        empty=_explain_no_pairings(settings),
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
    chat = ask_daemon(settings, protocol.PAIR_APPROVE, params, protocol.PairedChat)
    print_text(f"{ChatName(chat.channel, chat.chat_id)} is admitted")
    print_text(OPERATOR)


@app.command()
def revoke(
    name: ChatWords,
    *,
    home: Home = None,
) -> None:
    """Revoke a chat's admission."""
    chat = parse_whole_chat(name)
    params = protocol.PairedChat(channel=chat.channel, chat_id=chat.chat_id)
    send_order(load_settings(home), protocol.PAIR_REVOKE, params)
    print_text(f"{chat} is no longer admitted")


def _explain_no_pairings(settings: Settings) -> str:
    """Explain that no chat has asked, and why none will."""
    with suppress(AgentsFileError):
        file = load_agents(settings)
        closed = [
            REFUSED.format(
                access=settings.access,
                channel=channel,
                log=LOG if settings.access == "allowlist" else "",
            )
            for channel, settings in file.channels.list_chat_channels().items()
            if settings.enabled and settings.access != "pairing"
        ]
        if closed:
            return NOT_ASKED + "".join(closed)
    return f"{NOT_ASKED} yet"
