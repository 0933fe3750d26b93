"""Options that several commands share, and the settings they change."""

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator import keys_file
from orchestrator.agentsfile import AgentsFile, load_agents_file
from orchestrator.cli.other_user import require_access
from orchestrator.settings import PREFIX, Settings
from thinker.protocol.names import ChatName


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


def load_settings(
    home: Path | None = None, config: Path | None = None, log_level: str | None = None
) -> Settings:
    """Read the settings from the environment and the home's file of keys.

    Options that are not None override both.

    Raises:
        ConfigError: a setting is invalid, or the home is closed to this user.
    """
    options = {"HOME": home, "CONFIG": config, "LOG_LEVEL": log_level}
    overrides = {PREFIX + name: str(value) for name, value in options.items() if value is not None}
    given = {**os.environ, **overrides}
    found = Settings.read_environ(given)
    require_access(found.home)
    keys = keys_file.read_keys(found.home, given)
    return Settings.read_environ(keys.merge_under(given)) if keys.values else found


def load_environment(settings: Settings) -> Mapping[str, str]:
    """Return the variables of this shell, completed from the home's file of keys."""
    return keys_file.load_environment(settings.home, os.environ)


def load_agents(settings: Settings) -> AgentsFile:
    """Read agents.json as the daemon of this home would.

    Raises:
        AgentsFileError: the file cannot be used.
    """
    return load_agents_file(settings.find_agents_file(), load_environment(settings)).file
