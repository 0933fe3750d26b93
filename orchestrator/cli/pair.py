"""``orchestrator pair``: admit chats that wrote to the bot, or shut them out."""

from contextlib import suppress
from typing import Annotated

import typer

from orchestrator.agentsfile import AgentsFileError, load
from orchestrator.cli._client import ask, order
from orchestrator.cli._direct_journal import ask_or_read
from orchestrator.cli._options import (
    AsJson,
    ChatWords,
    Home,
    command_group,
    environment,
    load_settings,
    whole_chat,
)
from orchestrator.cli._output import minute
from orchestrator.cli._prose import say
from orchestrator.cli._tables import listing
from orchestrator.control import listings, protocol
from orchestrator.settings import Settings
from thinker.protocol.names import ChatName

NOT_ASKED = "no chat has asked for admission"
OPERATOR = (
    "It is an operator's chat now: all commands work there, such as /pause and /approve (see /help)"
)
REFUSED = "; access is {access!r}, see channels.{channel} in agents.json{log}"
LOG = ". Whom it refuses is named in: orchestrator logs"

app = command_group("pair")


@app.command("list")
def list_pairings(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the chats that asked for admission, with the decisions."""
    settings = load_settings(home)
    found = ask_or_read(settings, protocol.PAIR_LIST, protocol.PairingList, listings.pairings)
    listing(
        found,
        "Pairings",
        ("chat", "name", "state", "code", "asked (UTC)"),
        (
            (ChatName(i.channel, i.chat_id), i.name, i.state, i.code, minute(i.created_at))
            for i in found.pairings
        ),
        empty=_why_none(settings),
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
    say(f"{ChatName(chat.channel, chat.chat_id)} is admitted")
    say(OPERATOR)


@app.command()
def revoke(
    name: ChatWords,
    *,
    home: Home = None,
) -> None:
    """Revoke a chat's admission."""
    chat = whole_chat(name)
    params = protocol.PairedChat(channel=chat.channel, chat_id=chat.chat_id)
    order(load_settings(home), protocol.PAIR_REVOKE, params)
    say(f"{chat} is not admitted any more")


def _why_none(settings: Settings) -> str:
    """Say that no chat has asked, and why none will."""
    with suppress(AgentsFileError):
        file = load(settings.agents_file(), environment(settings)).file
        closed = [
            REFUSED.format(
                access=settings.access,
                channel=channel,
                log=LOG if settings.access == "allowlist" else "",
            )
            for channel, settings in file.channels.guarded().items()
            if settings.enabled and settings.access != "pairing"
        ]
        if closed:
            return NOT_ASKED + "".join(closed)
    return f"{NOT_ASKED} yet"
