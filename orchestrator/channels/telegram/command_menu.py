"""The bot's commands as Telegram offers them to people who type ``/``."""

from collections.abc import Mapping

import structlog
from pydantic import JsonValue

from orchestrator.channels.telegram.bot_api import BotApi
from orchestrator.channels.telegram.bot_errors import Answered, BotApiError

MAX_DESCRIPTION = 256  # characters (Bot API, BotCommand)
log = structlog.get_logger()


class BotCommand(Answered):
    """A command with what Telegram says of it."""

    command: str
    description: str


async def offer(api: BotApi, menus: Mapping[str, Mapping[str, str]]) -> None:
    """Give Telegram the commands of each BotCommandScope, if it has others.

    A failure is only logged.
    """
    try:
        for scope, commands in menus.items():
            wanted = [
                BotCommand(command=name, description=text[:MAX_DESCRIPTION])
                for name, text in commands.items()
            ]
            where: dict[str, JsonValue] = {"scope": {"type": scope}}
            if await api.call("getMyCommands", where, list[BotCommand]) != wanted:
                told: list[JsonValue] = [item.model_dump() for item in wanted]
                await api.call("setMyCommands", {**where, "commands": told}, object)
    except BotApiError as error:
        log.warning("command_menu_not_set", problem=str(error), todo="the next start tries again")
