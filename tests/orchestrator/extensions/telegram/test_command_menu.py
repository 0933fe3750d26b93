"""The menu of commands: told to Telegram when it differs, and never a reason to fail."""

import pytest
from fakes.bot_api import FakeBotApi, Fault
from structlog.testing import capture_logs

from orchestrator.extensions.telegram import command_menu
from orchestrator.extensions.telegram.bot_api import BotApi
from orchestrator.extensions.telegram.command_menu import MAX_DESCRIPTION
from orchestrator.inbound.commands import COMMANDS, build_menus

TOKEN = "123456:ABC-DEF"


async def test_menu_is_told_once_and_again_when_it_changed() -> None:
    """By scope; Telegram keeps it, so a start with the same commands sends none."""
    async with FakeBotApi(TOKEN) as server, BotApi(TOKEN, server.url) as api:
        for menus, times in (
            (build_menus(), 2),
            (build_menus(), 2),
            ({"default": {"go": "x" * 300}}, 3),
        ):
            await command_menu.publish_commands(api, menus)
            assert len(server.calls("setMyCommands")) == times
        assert {item["command"] for item in server.menus["all_private_chats"]} == set(
            build_menus()["all_private_chats"]
        )
        assert server.menus["default"] == [{"command": "go", "description": "x" * MAX_DESCRIPTION}]


def test_groups_are_offered_what_everybody_may_use() -> None:
    """Private chats, which are mostly operators', are offered everything."""
    everyone = build_menus()["default"].keys()
    assert everyone & COMMANDS.keys() == {"help", "new", "stop"}
    assert everyone >= {"status", "usage"}
    assert {"approve", "status"} < set(build_menus()["all_private_chats"])


@pytest.mark.parametrize("method", ["getMyCommands", "setMyCommands"])
async def test_refused_menu_is_a_warning(method: str) -> None:
    """It says that the next start tries again."""
    async with FakeBotApi(TOKEN) as server, BotApi(TOKEN, server.url) as api:
        server.break_next(method, Fault(500))
        with capture_logs() as logs:
            await command_menu.publish_commands(api, build_menus())
    (warning,) = logs
    assert (warning["log_level"], warning["event"]) == ("warning", "command_menu_not_set")
    assert method in warning["problem"]
