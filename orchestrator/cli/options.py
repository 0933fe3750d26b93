"""Options that several commands share."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.loaded_settings import load_agents, load_environment, load_settings
from thinker.protocol.names import ChatName

__all__ = [
    "AsJson",
    "ChatWords",
    "Config",
    "Home",
    "LogLevel",
    "RowNumber",
    "load_agents",
    "load_environment",
    "load_settings",
    "parse_chat",
    "parse_whole_chat",
]


class LogLevel(StrEnum):
    """The lowest level of events to show."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="Home (default: ORCHESTRATOR_HOME or ~/.orchestrator).",
        readable=False,  # `load_settings` says more than that it is not
    ),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="Another agents.json than the home's."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

ChatWords = Annotated[
    list[str], typer.Argument(metavar="CHAT", help="Channel and id, such as telegram:123.")
]
RowNumber = Annotated[
    int, typer.Argument(metavar="ID", help="Number from the list.", min=1, max=2**63 - 1)
]


def parse_chat(words: Sequence[str]) -> ChatName:
    """Parse a chat, given as ``telegram:123`` or as two words.

    Raises:
        BadParameter: the arguments have another form.
    """
    try:
        return ChatName.parse(" ".join(words))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="CHAT") from None


def parse_whole_chat(words: Sequence[str]) -> ChatName:
    """Parse a chat that is not a thread.

    Raises:
        BadParameter: the arguments name a thread, or have another form.
    """
    chat = parse_chat(words)
    if chat.thread_id:
        whole = ChatName(chat.channel, chat.chat_id)
        raise typer.BadParameter(f"{chat} is a thread; write its chat, {whole}", param_hint="CHAT")
    return chat
