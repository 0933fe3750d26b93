"""What was said while nothing was received is received once, each chat in its order."""

import anyio
from fakes.discord_server import DM, GUILD, TEXT
from fakes.discord_world import DiscordWorld
from fakes.time_limit import time_limit

from orchestrator.extensions.channel_folders.hosted_channel import HostedChannel
from orchestrator.extensions.channel_folders.testing.channel_tests import (
    ChannelContract,
    MemoryIntake,
)

receiving = ChannelContract().receiving


async def test_what_was_said_before_the_first_start_is_not_answered(world: DiscordWorld) -> None:
    """A server may have years of history."""
    await world.say(world.group, "long ago", mention=True)
    intake = MemoryIntake()
    async with receiving(world, intake):
        await world.say(world.group, "now")
        await intake.wait_for_message("now")
    assert intake.list_texts(world.group) == ["now"]


async def test_a_pause_is_read_page_by_page_in_every_chat(world: DiscordWorld) -> None:
    """Channels, threads and private chats; a channel that the bot may not read is left out."""
    intake = MemoryIntake()
    async with receiving(world, intake):
        await world.say(world.private, "start")
        await intake.wait_for_message("start")
    closed = world.server.open(TEXT)
    closed.readable = False
    await world.say(closed.id, "secret")
    said = [f"number {number}" for number in range(230)]
    for text in said:
        await world.say(world.group, text)
    await world.say(world.group, "aside", thread=world.server.new_id())
    await world.say(world.private, "end")
    async with receiving(world, intake):
        await intake.wait_for_message("end")
        await intake.wait_for_message("aside")
    assert intake.list_texts(world.group) == [*said, "aside"]
    assert intake.list_texts(world.private) == ["start", "end"]
    assert not intake.list_texts(closed.id)


async def test_a_stranger_who_wrote_during_a_pause_is_heard_with_the_next_message(
    world: DiscordWorld,
) -> None:
    """Discord does not tell a bot its private chats, so a new one is known once it speaks."""
    intake = MemoryIntake()
    async with receiving(world, intake):
        await world.say(world.group, "start")
        await intake.wait_for_message("start")
    stranger = world.server.open(DM)
    await world.say(stranger.id, "hello")
    async with receiving(world, intake):
        await world.server.seen(2)
        await world.say(stranger.id, "are you there?")
        await intake.wait_for_message("are you there?")
    assert intake.list_texts(stranger.id) == ["hello", "are you there?"]


async def test_an_interrupted_session_is_resumed(world: DiscordWorld) -> None:
    """The gateway repeats what was said meanwhile."""
    intake = MemoryIntake()
    async with receiving(world, intake):
        await world.server.seen(1)
        await world.server.hang_up()
        await world.say(world.private, "in between")
        await world.say(world.private, "and after")
        await intake.wait_for_message("and after")
        await world.server.seen(2)
    assert intake.list_texts(world.private) == ["in between", "and after"]


async def test_after_a_session_that_is_lost_the_history_is_read(world: DiscordWorld) -> None:
    """A new one tells nothing of the time before it."""
    intake = MemoryIntake()
    async with receiving(world, intake):
        await world.say(world.private, "start")
        await intake.wait_for_message("start")
        await world.server.hang_up(forget=True)
        await world.say(world.private, "in between")
        await world.say(world.group, "there too")
        await intake.wait_for_message("in between")
        await intake.wait_for_message("there too")
    assert intake.list_texts(world.private) == ["start", "in between"]


async def test_the_outage_of_a_server_loses_nothing(world: DiscordWorld) -> None:
    """Neither after a restart that finds it out of reach: other chats go on meanwhile."""
    intake = MemoryIntake()
    async with receiving(world, intake):
        await world.say(world.private, "start")
        await intake.wait_for_message("start")
        await world.server.lose()
        await world.say(world.group, "anyone?")
        await world.say(world.private, "go on")
        await intake.wait_for_message("go on")
    async with receiving(world, intake):
        await world.server.seen(2)
        await world.say(world.private, "and on")
        await intake.wait_for_message("and on")
        assert intake.list_texts(world.group) == []
        await world.server.reach()
        await world.say(world.group, "at last")
        await intake.wait_for_message("at last")
    assert intake.list_texts(world.group) == ["anyone?", "at last"]
    async with receiving(world, intake):
        await world.say(world.group, "the end")
        await intake.wait_for_message("the end")
        await world.say(world.private, "it is read")
        await intake.wait_for_message("it is read")
    assert "behind" in await intake.load_cursor("discord", "discord")
    assert GUILD not in await intake.load_cursor("discord", "discord")


async def test_a_preview_of_a_link_is_no_edit(world: DiscordWorld) -> None:
    """Discord tells that it has added one to a message."""
    intake = MemoryIntake()
    async with receiving(world, intake):
        message_id = await world.say(world.private, "see https://example.com")
        await intake.wait_for_message("see")
        seen = world.server.find(world.private, message_id)
        await world.server.tell("MESSAGE_UPDATE", seen | {"embeds": [{"type": "link"}]})
        await world.say(world.private, "and?")
        await intake.wait_for_message("and?")
    assert [message.kind for message in intake.stored] == ["message", "message"]


async def _told(adapter: object, words: str) -> None:
    assert isinstance(adapter, HostedChannel)
    with time_limit():
        while words not in adapter.status.detail:
            await anyio.lowlevel.checkpoint()


async def test_a_refused_token_is_told_with_what_to_do(world: DiscordWorld) -> None:
    """The channel's status says it, and so does a message that cannot be sent."""
    world.token = "another"
    intake = MemoryIntake()
    async with world.open_adapter() as adapter, anyio.create_task_group() as tasks:
        tasks.start_soon(adapter.run, intake)
        await _told(adapter, "reset the token at https://discord.com/developers/applications")
        tasks.cancel_scope.cancel()


async def test_a_missing_intent_is_told_with_where_to_switch_it_on(world: DiscordWorld) -> None:
    """Without it a bot would get messages without their text."""
    world.server.content_granted = False
    intake = MemoryIntake()
    async with world.open_adapter() as adapter, anyio.create_task_group() as tasks:
        tasks.start_soon(adapter.run, intake)
        await _told(adapter, "switch on Message Content Intent")
        tasks.cancel_scope.cancel()
