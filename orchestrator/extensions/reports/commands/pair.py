"""``orchestrator pair``: admit chats that wrote to the bot, or revoke their access."""

from contextlib import suppress
from typing import Annotated

import typer

from orchestrator.agentsfile import AgentsFileError
from orchestrator.agentsfile.chat_roles import find_written_role
from orchestrator.channel_api import ROLES, ChatRole
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
from orchestrator.extensions.reports.reports_part import PAIR_REFUSE
from orchestrator.settings import Settings
from thinker.protocol.names import ChatName

NOT_ASKED = "no chats have asked for access"
MEANINGS: dict[ChatRole, str] = {
    "talk": "it may talk to its agent",
    "approve": "it may also approve the calls of its own chat",
    "operate": "all commands work there, such as /pause and /approve",
}
OVERRULED = (
    '{chat}: stored, but agents.json gives it the role "{written}", which counts first; change'
    ' "roles" or the binding there'
)
CHANGE = "To change that: orchestrator pair role {chat} --as {others}"
REFUSED = "; access is {access!r}, see channels.{channel} in agents.json{log}"
LOG = ". Refused senders are listed in: orchestrator logs"
COLUMNS: Columns = {
    "chat": lambda asked: ChatName(asked.channel, asked.chat_id),
    "name": "name",
    "state": "state",
    "role": "role",
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
    role: Annotated[
        ChatRole | None,
        typer.Option(
            "--as", help="What it may do; default: operate for the first chat, else talk."
        ),
    ] = None,
    home: Home = None,
) -> None:
    """Admit the chat that received this code."""
    settings, params = load_settings(home), protocol.PairCode(code=code, role=role)
    chat = ask_daemon(settings, protocol.PAIR_APPROVE, params, protocol.AdmittedChat)
    print_text(f"{ChatName(chat.channel, chat.chat_id)} is admitted")
    _explain_role(chat)


@app.command()
def refuse(
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code that the chat received.")],
    *,
    home: Home = None,
) -> None:
    """Refuse the chat that received this code; it may ask again after a day."""
    send_order(load_settings(home), PAIR_REFUSE, protocol.PairCode(code=code))
    print_text("refused; the chat is not told")


@app.command("role")
def change_role(
    name: ChatWords,
    *,
    role: Annotated[ChatRole, typer.Option("--as", help="What it may do from now on.")],
    home: Home = None,
) -> None:
    """Change what an admitted chat may do."""
    chat = parse_whole_chat(name)
    params = protocol.AdmittedChat(channel=chat.channel, chat_id=chat.chat_id, role=role)
    settings = load_settings(home)
    send_order(settings, protocol.PAIR_ROLE, params)
    with suppress(AgentsFileError):
        written = find_written_role(load_agents(settings), chat.channel, [chat.chat_id])
        if written not in (None, role):
            print_text(OVERRULED.format(chat=chat, written=written), err=True)
            return
    print_text(f"{chat}: {MEANINGS[role]}")


def _explain_role(chat: protocol.AdmittedChat) -> None:
    print_text(f"Its role is {chat.role}: {MEANINGS[chat.role]}")
    others = "|".join(other for other in ROLES if other != chat.role)
    print_text(CHANGE.format(chat=ChatName(chat.channel, chat.chat_id), others=others))


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
