"""What a message of Discord says, and to whom."""

from typing import Any

from fakes.discord_server import ANN, BOT, GUILD, ROBOT, ROLE
from fakes.discord_world import DiscordWorld

from orchestrator.channel_api import InboundMessage
from orchestrator.extensions.channel_folders.testing.channel_tests import (
    ChannelContract,
    MemoryIntake,
)

receiving = ChannelContract().receiving


async def _received(world: DiscordWorld, text: str, **fields: Any) -> InboundMessage:
    """What the daemon learns from a message in the group."""
    intake = MemoryIntake()
    async with receiving(world, intake):
        await world.server.write(world.group, ANN, text, **fields)
        await world.say(world.group, "the end")
        await intake.wait_for_message("the end")
    return intake.stored[0]


async def test_the_role_of_the_bot_is_its_name_too(world: DiscordWorld) -> None:
    """Clients offer both when a name is typed."""
    found = await _received(world, f"  <@&{ROLE}>, what is new?")
    assert (found.mentioned, found.text) == (True, "what is new?")


async def test_names_and_signs_are_readable(world: DiscordWorld) -> None:
    """Of people and channels, and of emoji; what is unknown stays."""
    text = f"<@{ANN['id']}> in <#{world.group}> and <#5> <:party:123> <a:wave:9> <@{BOT['id']}>"
    found = await _received(world, text)
    assert found.text == "@Ann in #talk and <#5> :party: :wave: @Helper"
    assert found.mentioned


async def test_everyone_is_not_the_bot(world: DiscordWorld) -> None:
    """A call to all wants no answer of it."""
    found = await _received(world, "@everyone look", mention_everyone=True)
    assert not found.mentioned


async def test_a_forwarded_message_and_a_sticker_are_words(world: DiscordWorld) -> None:
    """So that an agent knows what is talked about."""
    forwarded = {"type": 0, "content": "old news", "embeds": [], "attachments": []}
    forwarded |= {"timestamp": "2026-01-01T00:00:00+00:00", "edited_timestamp": None}
    forwarded |= {"flags": 0, "mentions": [], "mention_roles": []}
    sticker = {"id": "5", "name": "Wave", "format_type": 1}
    found = await _received(
        world, "", message_snapshots=[{"message": forwarded}], sticker_items=[sticker]
    )
    assert found.text == "old news\n(sticker: Wave)"


async def test_an_answer_to_another_is_none_to_the_bot(world: DiscordWorld) -> None:
    """Neither is one whose original is deleted."""
    first = await world.server.write(world.group, ROBOT, "beep")
    found = await _received(world, "what?", **world.server.reply_to(world.group, first["id"]))
    assert (found.replied_to_bot, found.from_bot) == (False, False)
    gone = {"message_id": "1", "channel_id": world.group, "guild_id": GUILD}
    fields = {"type": 19, "message_reference": gone, "referenced_message": None}
    assert not (await _received(world, "so?", **fields)).replied_to_bot


async def test_news_of_the_server_are_no_messages(world: DiscordWorld) -> None:
    """Somebody joined, pinned or renamed something."""
    found = await _received(world, "", type=7)
    assert found.text == "the end"


async def test_a_file_says_what_it_is(world: DiscordWorld) -> None:
    """Its kind, name, type, size and length, and whether it was recorded instead of writing."""
    picture = world.server.attach("dot.png", b"..") | {"content_type": "image/png"}
    spoken = world.server.attach("voice-message.ogg", b"..") | {"duration_secs": 3.2}
    spoken["waveform"] = "AAAA"
    found = await _received(world, "", attachments=[picture | {"width": 2, "height": 1}, spoken])
    assert [file.about for file in found.attachments] == [
        "image: dot.png, image/png, 2x1",
        "file: voice-message.ogg, 3 seconds",
    ]
    assert [file.voice for file in found.attachments] == [False, True]


async def test_a_reply_carries_what_it_answers(world: DiscordWorld) -> None:
    """Words and files of others, of the sender, and of the bot."""
    for author, by in ((ROBOT, "other"), (ANN, "sender"), (BOT, "agent")):
        first = await world.server.write(world.group, author, "at five")
        found = await _received(world, "no", **world.server.reply_to(world.group, first["id"]))
        assert found.quote is not None
        assert (found.quote.by, found.quote.text, found.text) == (by, "at five", "no")
        assert found.reply_to == first["id"]


async def test_a_deleted_message_is_told(world: DiscordWorld) -> None:
    """So that one that waits is not answered."""
    intake = MemoryIntake()
    async with receiving(world, intake):
        sent = await world.server.write(world.group, ANN, "forget this")
        await intake.wait_for_message("forget this")
        await world.server.delete(world.group, sent["id"])
        await world.say(world.group, "the end")
        await intake.wait_for_message("the end")
    (gone,) = [found for found in intake.stored if found.kind == "removal"]
    assert (gone.chat_id, gone.message_id) == (world.group, sent["id"])
