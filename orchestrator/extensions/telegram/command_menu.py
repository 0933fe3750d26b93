"""The bot's commands as Telegram offers them to people who type ``/``."""

from collections.abc import Mapping

import structlog
from pydantic import JsonValue

from orchestrator.extensions.telegram.bot_api import BotApi
from orchestrator.extensions.telegram.bot_errors import BotApiError, BotResult

MAX_DESCRIPTION = 256  # characters (Bot API, BotCommand)
log = structlog.get_logger()


class BotCommand(BotResult):
    """A command with its description for Telegram."""

    command: str
    description: str


async def publish_commands(api: BotApi, menus: Mapping[str, Mapping[str, str]]) -> None:
    """Set the commands of each BotCommandScope, unless Telegram has them.

    A failure is only logged.
    """
    try:
        for scope, commands in menus.items():
            wanted = [
                BotCommand(command=name, description=text[:MAX_DESCRIPTION])
                for name, text in commands.items()
            ]
            where: dict[str, JsonValue] = {"scope": {"type": scope}}
            if await api.call_method("getMyCommands", where, list[BotCommand]) != wanted:
                told: list[JsonValue] = [item.model_dump() for item in wanted]
                await api.call_method("setMyCommands", {**where, "commands": told}, object)
    except BotApiError as error:
        log.warning("command_menu_not_set", problem=str(error), todo="the next start tries again")
