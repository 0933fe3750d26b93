"""Slack keeps the promises of a channel."""

import pytest
from fakes.slack_server import Fault
from fakes.slack_world import SlackWorld

from orchestrator.channel_api import OutboundFile, OutboundPart, SendError, SendOutcome
from orchestrator.extensions.channel_folders.testing.channel_tests import (
    ChannelContract,
    MemoryIntake,
)


class TestSlack(ChannelContract):
    """All promises, and those of Slack alone."""

    async def test_an_event_is_acknowledged_once_it_is_stored(self, world: SlackWorld) -> None:
        """Slack goes on repeating it until then; what comes twice is stored once."""
        intake = MemoryIntake()
        async with self.receiving(world, intake):
            await world.say(world.private, "begin")
            await intake.wait_for_message("begin")
            await world.server.acknowledged()
            intake.full = True
            await world.say(world.private, "please keep")
            await intake.wait_for_refusals(1)
            await world.server.disconnected()
            assert world.server.unacknowledged
            intake.full = False
            await intake.wait_for_message("please keep")
            await world.server.acknowledged()
        assert intake.list_texts(world.private) == ["begin", "please keep"]

    async def test_a_model_can_mention_no_one(self, world: SlackWorld) -> None:
        """Whatever it writes is text, and Slack is told to look for no names."""
        words = "<!channel> <@UANN00001> **@here**"
        async with world.open_adapter() as adapter:
            message_id = await adapter.send(OutboundPart(world.group, words, key="m"))
            sent = await world.server.called("chat.postMessage")
            await adapter.edit(OutboundPart(world.group, f"{words}!", key="e"), message_id)
            edited = await world.server.called("chat.update")
        for call in (sent, edited):
            assert "<!" not in call["text"]
            assert "<@" not in call["text"]
            assert (call["parse"], call["link_names"]) == ("none", False)
        assert (sent["unfurl_links"], sent["unfurl_media"]) == (False, False)

    async def test_a_file_that_did_not_get_through_was_not_sent(self, world: SlackWorld) -> None:
        """Only the last of the three calls shows it."""
        part = OutboundPart(world.private, "", file=OutboundFile("a.txt", "text/plain", b"a"))
        outcomes = []
        async with world.open_adapter() as adapter:
            for method in ("files.getUploadURLExternal", "files.completeUploadExternal"):
                world.server.refuse(method, Fault(lost=True))
                with pytest.raises(SendError) as caught:
                    await adapter.send(part)
                outcomes.append(caught.value.outcome)
        assert outcomes == [SendOutcome.NOT_SENT, SendOutcome.UNKNOWN]
        assert await world.list_shown_texts(world.private) == ["a.txt"]

    async def test_a_message_that_is_gone_needs_no_removal(self, world: SlackWorld) -> None:
        """To remove it again succeeds; to edit it says that it is gone."""
        async with world.open_adapter() as adapter:
            message_id = await adapter.send(OutboundPart(world.private, "short-lived", key="s"))
            for _ in range(2):
                await adapter.remove(world.private, message_id)
            with pytest.raises(SendError) as caught:
                await adapter.edit(OutboundPart(world.private, "more", key="t"), message_id)
        assert caught.value.outcome is SendOutcome.GONE
