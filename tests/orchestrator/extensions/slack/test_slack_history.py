"""What was said while no connection listened is received, once and in order."""

from fakes.slack_server import BOT, Fault
from fakes.slack_world import SlackWorld

from orchestrator.extensions.channel_folders.testing.channel_tests import (
    ChannelContract,
    MemoryIntake,
)

RECEIVING = ChannelContract().receiving


async def begun(world: SlackWorld, text: str) -> MemoryIntake:
    """An intake that holds one message of the group; nothing listens any more."""
    intake = MemoryIntake()
    async with RECEIVING(world, intake):
        await world.say(world.group, text)
        await intake.wait_for_message(text)
    return intake


async def test_what_was_said_before_the_first_start_is_never_answered(world: SlackWorld) -> None:
    """Not at the first start, and not when a later one looks back."""
    await world.say(world.group, "long ago")
    intake = await begun(world, "now")
    async with RECEIVING(world, intake):
        await world.say(world.group, "later")
        await intake.wait_for_message("later")
    assert intake.list_texts(world.group) == ["now", "later"]


async def test_threads_and_edits_of_a_pause_are_received(world: SlackWorld) -> None:
    """Also in a thread that was begun before, and of a message that is stored."""
    root = await world.say(world.group, "a thread of old times")
    intake = await begun(world, "stored")
    stored = world.server.chats[world.group].messages[-1]["ts"]
    await world.say(world.group, "inside", thread=root)
    await world.change(world.group, stored, "stored, and changed")
    changed = await world.say(world.group, "begun anew")
    await world.change(world.group, changed, "changed before it was read")
    await world.server.write(world.group, "to all", thread_ts=changed, subtype="thread_broadcast")
    async with RECEIVING(world, intake):
        await intake.wait_for_message("to all")
    assert [(message.text, message.kind, message.thread_id) for message in intake.stored[1:]] == [
        ("inside", "message", root),
        ("stored, and changed", "edit", None),
        ("changed before it was read", "message", None),
        ("to all", "message", changed),
    ]


async def test_a_message_that_was_overtaken_is_received(world: SlackWorld) -> None:
    """Slack keeps no order between two deliveries: a newer one may be stored already."""
    intake = await begun(world, "newer")
    newer = world.server.chats[world.group].messages[-1]
    seconds, _, rest = newer["ts"].partition(".")
    older = {**newer, "text": "older", "ts": f"{int(seconds) - 1}.{rest}"}
    world.server.chats[world.group].messages.insert(0, older)
    async with RECEIVING(world, intake):
        await intake.wait_for_message("older")


async def test_chats_are_merged_page_by_page(world: SlackWorld) -> None:
    """Where Slack asks to wait, the rest comes after that."""
    intake = await begun(world, "start")
    world.server.page = 2
    world.server.refuse("conversations.history", Fault(code="ratelimited", status=429, wait="0"))
    chats = [world.private, world.group] * 5
    for number, chat in enumerate(chats):
        await world.say(chat, f"number {number}")
    async with RECEIVING(world, intake):
        await intake.wait_for_message(f"number {len(chats) - 1}")
    found = [message.text for message in intake.stored]
    assert found == ["start", *(f"number {number}" for number in range(len(chats)))]


async def test_a_chat_that_cannot_be_read_hides_no_other(world: SlackWorld) -> None:
    """The bot may have been removed between two calls; a message may be of another form."""
    intake = await begun(world, "start")
    await world.say(world.group, "still here")
    await world.server.write(world.group, "odd", user={"not": "an id"})
    world.server.refuse("conversations.history", Fault(code="not_in_channel"))
    async with RECEIVING(world, intake):
        await intake.wait_for_message("still here")


async def test_what_was_said_before_the_bot_joined_is_not_answered(world: SlackWorld) -> None:
    """The histories of its chats have it, but no connection would have told it."""
    intake = await begun(world, "start")
    world.server.open("C0NEW0001", "group", "UANN00001")
    await world.say("C0NEW0001", "among ourselves")
    await world.server.write("C0NEW0001", "joined", user=BOT, subtype="channel_join")
    await world.say("C0NEW0001", "welcome")
    async with RECEIVING(world, intake):
        await intake.wait_for_message("welcome")
    assert intake.list_texts("C0NEW0001") == ["welcome"]
