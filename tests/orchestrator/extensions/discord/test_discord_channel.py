"""What a message to Discord is, and when it is sent again."""

import time

import pytest
from fakes.discord_server import ANN
from fakes.discord_world import DiscordWorld

from orchestrator.channel_api import OutboundPart, SendError, SendOutcome
from orchestrator.extensions.channel_folders.testing.channel_tests import (
    ChannelContract,
    MemoryIntake,
)

receiving = ChannelContract().receiving


def _old(world: DiscordWorld, text: str, key: str) -> OutboundPart:
    """A message that has waited for ten minutes."""
    return OutboundPart(world.private, text, key=key, queued_at=int(time.time() - 600) * 1000)


async def test_a_message_that_waited_for_long_is_not_sent_twice(world: DiscordWorld) -> None:
    """Discord has forgotten its nonce, but the chat shows that it has arrived."""
    async with world.open_adapter() as adapter:
        async with world.lose_answers():
            with pytest.raises(SendError):
                await adapter.send(_old(world, "**once** & for all", "a"))
        world.server.nonces.clear()
        await adapter.send(_old(world, "**once** & for all", "a"))
        await adapter.send(_old(world, "**once** & for all", "b"))
        await adapter.send(_old(world, "more", "c"))
    assert await world.list_shown_texts(world.private) == ["once & for all"] * 2 + ["more"]


async def test_nobody_is_notified_and_no_link_previewed(world: DiscordWorld) -> None:
    """Whatever a model writes: @everyone is only a word."""
    async with world.open_adapter() as adapter:
        text = f"@everyone <@{ANN['id']}> see https://example.com"
        await adapter.send(OutboundPart(world.group, text, key="loud"))
    (post,) = world.server.posts
    assert post["allowed_mentions"] == {"parse": []}
    assert post["flags"] == 4
    assert post["content"] == f"@everyone \\<@{ANN['id']}> see https://example.com"


async def test_an_answer_points_to_its_question_in_a_channel_alone(world: DiscordWorld) -> None:
    """A question that was deleted does no harm."""
    intake = MemoryIntake()
    async with receiving(world, intake) as adapter:
        for chat in (world.group, world.private):
            asked = await world.say(chat, f"what is new in {chat}?")
            await intake.wait_for_message(f"what is new in {chat}?")
            await adapter.send(OutboundPart(chat, "nothing", reply_to=asked, key=chat))
    first, second = world.server.posts
    assert first["message_reference"]["fail_if_not_exists"] is False
    assert str(first["message_reference"]["message_id"]) == intake.stored[0].message_id
    assert "message_reference" not in second


async def test_a_short_wait_is_waited_and_a_long_one_told(world: DiscordWorld) -> None:
    """The supervisor learns when to go on."""
    async with world.open_adapter() as adapter:
        world.server.flood = [0.01, 0.01]
        await adapter.send(OutboundPart(world.private, "patience", key="short"))
        world.server.flood = [7.5]
        with pytest.raises(SendError) as caught:
            await adapter.send(OutboundPart(world.private, "later", key="long"))
    assert (caught.value.outcome, caught.value.retry_after) == (SendOutcome.NOT_SENT, 7.5)
    assert await world.list_shown_texts(world.private) == ["patience"]


async def test_a_message_in_a_thread_can_be_changed_and_removed(world: DiscordWorld) -> None:
    """A change names its chat, which is the channel around the thread."""
    async with world.open_adapter() as adapter:
        thread = await world.say(world.group, "a topic")
        await world.say(world.group, "inside", thread=thread)
        part = OutboundPart(world.group, "draft", thread_id=thread, key="draft")
        message_id = await adapter.send(part)
        await adapter.edit(OutboundPart(world.group, "final", key="final"), message_id)
        assert await world.list_shown_texts(thread) == ["final"]
        await adapter.remove(world.group, message_id)
        with pytest.raises(SendError) as caught:
            await adapter.edit(part, message_id)
    assert caught.value.outcome is SendOutcome.GONE
    assert await world.list_shown_texts(thread) == []


async def test_a_platform_out_of_reach_got_nothing(world: DiscordWorld) -> None:
    """A login that fails means that the message was not sent."""
    world.be_gone()
    async with world.open_adapter() as adapter:
        with pytest.raises(SendError) as caught:
            await adapter.send(OutboundPart(world.private, "hello?", key="nowhere"))
    assert caught.value.outcome is SendOutcome.NOT_SENT
