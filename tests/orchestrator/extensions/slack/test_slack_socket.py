"""Connections end, are renewed, and say strange things."""

import anyio
from fakes.slack_world import SlackWorld
from fakes.time_limit import time_limit

from orchestrator.extensions.channel_folders.testing.channel_tests import (
    ChannelContract,
    MemoryIntake,
)

RECEIVING = ChannelContract().receiving


async def test_a_connection_that_slack_renews_is_followed_by_another(world: SlackWorld) -> None:
    """Nothing is lost or read again, and the channel is never out of order."""
    intake = MemoryIntake()
    async with RECEIVING(world, intake) as adapter:
        await world.say(world.private, "before")
        await intake.wait_for_message("before")
        starts = [method for method, _ in world.server.calls].count("auth.test")
        for reason in ("warning", "refresh_requested"):
            await world.server.renew(reason)
            await world.say(world.private, f"after {reason}")
            await intake.wait_for_message(f"after {reason}")
        await world.server.acknowledged()
        assert (adapter.status.state, starts) == ("ok", 1)
        assert [method for method, _ in world.server.calls].count("auth.test") == starts
    assert intake.list_texts(world.private) == [
        "before",
        "after warning",
        "after refresh_requested",
    ]


async def test_what_is_said_after_a_lost_connection_is_received(world: SlackWorld) -> None:
    """The channel says so and begins again."""
    intake = MemoryIntake()
    async with RECEIVING(world, intake):
        await world.server.connected()
        await world.server.drop()
        await world.say(world.private, "is any one there?")
        await intake.wait_for_message("is any one there?")
    assert intake.list_texts(world.private) == ["is any one there?"]


async def test_socket_mode_that_is_switched_off_says_so(world: SlackWorld) -> None:
    """Status has the words."""
    async with RECEIVING(world, MemoryIntake()) as adapter:
        await world.server.connected()
        await world.server.send('{"type": "disconnect", "reason": "link_disabled"}')
        with time_limit():
            while adapter.status.state != "degraded":
                await anyio.lowlevel.checkpoint()
        assert adapter.status.detail.startswith("Socket Mode of the Slack app is off; switch it on")


async def test_what_cannot_be_read_does_not_stop_the_rest(world: SlackWorld) -> None:
    """It is acknowledged, so that it does not come again for ever; repeats are stored once."""
    intake = MemoryIntake()
    async with RECEIVING(world, intake):
        await world.server.connected()
        odd = '{"envelope_id": "odd", "payload": {"event": 5}}'
        world.server.unacknowledged["odd"] = {}
        for frame in ("no json", "[]", odd, '{"type": "slash_commands", "envelope_id": "command"}'):
            await world.server.send(frame)
        intake.full = False
        await world.say(world.private, "and this?")
        await world.server.repeat()
        await intake.wait_for_message("and this?")
        await world.server.acknowledged()
    assert intake.list_texts(world.private) == ["and this?"]
