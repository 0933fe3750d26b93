"""The channel begins, learns names, and says what is wrong with its tokens."""

import anyio
import pytest
from fakes.slack_server import BOT, Fault
from fakes.slack_world import TOKENS, SlackWorld
from fakes.time_limit import time_limit

from orchestrator.extensions.channel_folders.testing.channel_tests import (
    ChannelContract,
    MemoryIntake,
)
from orchestrator.extensions.channel_folders.testing.memory_host import hosted_adapter
from orchestrator.extensions.slack.slack_channel import connect

RECEIVING = ChannelContract().receiving


async def problem(world: SlackWorld, tokens: dict[str, str]) -> str:
    """What status says of the channel once it fails with these tokens."""
    options = {"api": f"{world.server.url}/api/"}
    async with (
        hosted_adapter("slack", options, tokens, connect) as adapter,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(adapter.run, MemoryIntake())
        with time_limit():
            while adapter.status.state != "degraded":
                await anyio.lowlevel.checkpoint()
        found = adapter.status.detail
        tasks.cancel_scope.cancel()
    return found


@pytest.mark.parametrize(
    ("name", "token", "why"),
    [
        ("SLACK_BOT_TOKEN", "xoxb-wrong", "invalid_auth"),
        ("SLACK_APP_TOKEN", "xapp-wrong", "invalid_auth"),
        ("SLACK_BOT_TOKEN", "xapp-right", "it does not begin with xoxb-"),
        ("SLACK_APP_TOKEN", "xoxb-right", "it does not begin with xapp-"),
    ],
)
async def test_a_refused_token_says_what_to_do(
    world: SlackWorld, name: str, token: str, why: str
) -> None:
    """Each has its place in the app's settings; to swap them is easy."""
    found = await problem(world, TOKENS | {name: token})
    assert found.startswith(f"{name} is refused ({why}); ")
    assert "copy" in found


async def test_a_missing_scope_is_named(world: SlackWorld) -> None:
    """Slack says which one."""
    fields = {"needed": "groups:read"}
    world.server.refuse("users.conversations", Fault(code="missing_scope", fields=fields))
    found = await problem(world, TOKENS)
    assert found.startswith("the Slack app lacks the scope groups:read; add it under OAuth")


async def test_people_are_called_as_others_see_them(world: SlackWorld) -> None:
    """Each is asked for once; one whom Slack does not tell of keeps the id."""
    intake = MemoryIntake()
    async with RECEIVING(world, intake):
        await world.say(world.group, f"<@UBOB00001> meet <@UGONE0001> and <@{BOT}>")
        await world.say(world.group, "once more <@UGONE0001>")
        found = await intake.wait_for_message("once more")
    assert intake.list_texts(world.group)[0] == "@Bob meet @UGONE0001 and @helper"
    assert found.sender_name == "Ann"
    asked = [given["user"] for method, given in world.server.calls if method == "users.info"]
    assert sorted(asked) == ["UANN00001", "UBOB00001", BOT, "UGONE0001"]


async def test_a_name_that_cannot_be_asked_for_delays_no_message(world: SlackWorld) -> None:
    """It is asked for again with the next one."""
    intake = MemoryIntake()
    world.server.refuse("users.info", Fault(code="internal_error", status=500))
    async with RECEIVING(world, intake):
        await world.say(world.private, "first")
        await intake.wait_for_message("first")
        await world.say(world.private, "second")
        await intake.wait_for_message("second")
    assert [message.sender_name for message in intake.stored] == ["", "Ann"]
