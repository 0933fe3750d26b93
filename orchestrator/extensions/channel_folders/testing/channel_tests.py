"""The contract of every channel, tested on its adapter against a platform.

A test module of a channel has a class that inherits `ChannelContract` and a fixture ``world``, a
`ChannelWorld` that plays the platform. ``lacks`` names the platform's missing features.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Protocol

import anyio
import pytest

from orchestrator.channel_api import (
    Adapter,
    InboundMessage,
    OutboundFile,
    OutboundPart,
    SendError,
    SendOutcome,
)
from orchestrator.errors import JournalError
from orchestrator.extensions.channel_folders.testing.memory_host import open_tasks

STEP_SECONDS = 60.0  # seconds for each step of a test; a starved machine needs a few
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


class MemoryIntake:
    """An intake in memory; ``full`` makes it refuse, as a full disk does."""

    def __init__(self) -> None:
        self.stored: list[InboundMessage] = []
        self.full = False
        self.refused = 0
        self._next: int | str = 0
        self._begun = anyio.Event()
        self._seen: set[tuple[str, str, int, str]] = set()
        self._changed = anyio.Event()

    async def load_offset(self, channel: str, bot_id: str) -> int:
        """Return the next offset, for a platform that numbers updates."""
        del channel, bot_id
        self._begun.set()
        return int(self._next)

    async def load_cursor(self, channel: str, bot_id: str) -> str:
        """Return the cursor, for any other platform."""
        del channel, bot_id
        if self._next:
            self._begun.set()
        return str(self._next or "")

    async def store_cursor(self, channel: str, bot_id: str, cursor: str) -> None:
        """Store the cursor."""
        del channel, bot_id
        self._refuse_if_full()
        self._next = cursor
        self._begun.set()

    async def list_chat_moves(self, channel: str) -> dict[str, str]:
        """Return an empty mapping: no chat has moved."""
        del channel
        return {}

    async def record_chat_move(self, channel: str, bot_id: str, old_id: str, new_id: str) -> None:
        """Ignore the move."""
        del channel, bot_id, old_id, new_id

    async def accept(
        self, messages: Sequence[InboundMessage], offset: int | str | None = None
    ) -> Mapping[str, str]:
        """Store new messages, or refuse the whole batch; an empty one moves no offset."""
        if not messages:
            return {}
        self._refuse_if_full()
        for message in messages:
            name = (message.chat_id, message.message_id, message.edit_date, message.kind)
            if name not in self._seen:
                self._seen.add(name)
                self.stored.append(message)
        self._next = self._next if offset is None else offset
        self._wake()
        return {}

    def _refuse_if_full(self) -> None:
        if self.full:
            self.refused += 1
            self._wake()
            raise JournalError("storage full; free space")

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def wait_until_begun(self) -> None:
        """Wait until a channel has found where it goes on."""
        with self._explain("the channel stored no first cursor"):
            await self._begun.wait()

    async def wait_for_refusals(self, count: int) -> None:
        """Wait until ``count`` batches were refused."""
        with self._explain("the channel stored nothing while the journal was full"):
            while self.refused < count:
                await self._changed.wait()

    async def wait_for_message(self, text: str) -> InboundMessage:
        """Wait for a message whose text has these words, and return it."""
        with self._explain(f"the channel stored no message with {text!r}"):
            while True:
                for message in self.stored:
                    if text in message.text:
                        return message
                await self._changed.wait()

    @contextmanager
    def _explain(self, problem: str) -> Iterator[None]:
        """Fail after `STEP_SECONDS` with what did not happen, and with what is stored."""
        with anyio.move_on_after(STEP_SECONDS) as waiting:
            yield
        if waiting.cancelled_caught:
            texts = [message.text for message in self.stored]
            pytest.fail(f"{problem} within {STEP_SECONDS:.0f} seconds; it stored {texts}")

    def list_texts(self, chat: str) -> list[str]:
        """Return the texts of a chat's messages in the order in which they were stored."""
        return [message.text for message in self.stored if message.chat_id == chat]


class ChannelWorld(Protocol):
    """A platform as people see it: a private chat and a group with the bot in both.

    ``lacks`` names missing features, whose tests are skipped; `orchestrator help extensions`
    explains each.
    """

    lacks: frozenset[str]
    private: str
    group: str

    def open_adapter(self) -> AbstractAsyncContextManager[Adapter]:
        """Open a new adapter, as after a start of the daemon."""

    async def say(
        self, chat: str, text: str, *, mention: bool = False, answers: str = "", thread: str = ""
    ) -> str:
        """Let a person write; return the message's id."""

    async def change(self, chat: str, message_id: str, text: str) -> None:
        """Let the person edit a message."""

    async def say_as_bot(self, chat: str, text: str) -> None:
        """Let another bot write."""

    async def say_nonsense(self, chat: str) -> None:
        """Let a message arrive that no code can read."""

    async def hand_in_file(self, chat: str, name: str, data: bytes) -> None:
        """Let the person send a file."""

    async def list_shown_texts(self, chat: str) -> list[str]:
        """Return the texts of the bot that a chat shows, in order; a file by its name."""

    async def load_shown_file(self, chat: str) -> bytes:
        """Return the bytes of the last file of the bot in a chat."""

    def lose_answers(self) -> AbstractAsyncContextManager[None]:
        """Deliver messages for a while without answering their sender."""

    def cut_off(self) -> AbstractAsyncContextManager[None]:
        """End all connections, and refuse others for a while."""

    def flood(self) -> AbstractAsyncContextManager[None]:
        """Refuse messages for a while, and say for how long."""

    async def leave(self) -> str:
        """Return a chat that the bot can no longer write to."""


def _need(world: ChannelWorld, *features: str) -> None:
    """Skip the test if the platform lacks one of them."""
    if missing := world.lacks.intersection(features):
        pytest.skip(f"the platform lacks {', '.join(sorted(missing))}")


async def _send_many(adapter: Adapter, chat: str) -> None:
    for number in range(20):
        await adapter.send(OutboundPart(chat, "x", key=f"x{number}"))


class ChannelContract:
    """The tests that every channel must pass."""

    @asynccontextmanager
    async def receiving(self, world: ChannelWorld, intake: MemoryIntake) -> AsyncIterator[Adapter]:
        """Run an adapter until it receives."""
        async with world.open_adapter() as adapter, open_tasks() as tasks:
            tasks.start_soon(adapter.run, intake)
            await intake.wait_until_begun()
            yield adapter

    async def test_a_message_is_received_with_all_that_routing_needs(
        self, world: ChannelWorld
    ) -> None:
        """Reports its chat, sender and name; the bot's own messages are ignored."""
        intake = MemoryIntake()
        async with self.receiving(world, intake) as adapter:
            await adapter.send(OutboundPart(world.private, "my own words", key="own"))
            await world.say(world.private, "hello there")
            found = await intake.wait_for_message("hello there")
        assert (found.channel, found.bot_id) == (adapter.name, adapter.bot_id)
        assert (found.chat_id, found.private, found.kind) == (world.private, True, "message")
        assert found.sender_id
        assert found.sender_name
        assert (found.from_bot, found.skip) == (False, None)
        assert not any("my own words" in text for text in intake.list_texts(world.private))

    async def test_messages_of_a_pause_are_received_once_in_order(
        self, world: ChannelWorld
    ) -> None:
        """A restart goes on where the journal ends; the bot's own words come as no one's."""
        _need(world, "history")
        intake = MemoryIntake()
        async with self.receiving(world, intake) as adapter:
            await world.say(world.private, "one")
            await intake.wait_for_message("one")
            await adapter.send(OutboundPart(world.private, "my last words", key="last"))
        for text in ("two", "three", "four"):
            await world.say(world.private, text)
        async with self.receiving(world, intake):
            await world.say(world.private, "five")
            await intake.wait_for_message("five")
        assert intake.list_texts(world.private) == ["one", "two", "three", "four", "five"]

    async def test_messages_that_cannot_be_stored_come_again(self, world: ChannelWorld) -> None:
        """Nothing is acknowledged before it is in the journal."""
        intake = MemoryIntake()
        async with self.receiving(world, intake):
            await world.say(world.private, "before")
            await intake.wait_for_message("before")
            intake.full = True
            await world.say(world.private, "first")
            await intake.wait_for_refusals(1)
            await world.say(world.private, "second")
            intake.full = False
            await intake.wait_for_message("second")
        assert intake.list_texts(world.private) == ["before", "first", "second"]

    async def test_what_cannot_be_read_stops_nothing(self, world: ChannelWorld) -> None:
        """It is left out, and the next message arrives."""
        _need(world, "nonsense")
        intake = MemoryIntake()
        async with self.receiving(world, intake):
            await world.say_nonsense(world.private)
            await world.say(world.private, "sense")
            await intake.wait_for_message("sense")
        assert intake.list_texts(world.private) == ["sense"]

    async def test_a_lost_connection_is_opened_again(self, world: ChannelWorld) -> None:
        """Without one nothing is sent; what is said before the next one arrives with it."""
        _need(world, "connections", "history")
        intake = MemoryIntake()
        async with self.receiving(world, intake) as adapter:
            async with world.cut_off():
                with pytest.raises(SendError) as caught:
                    await adapter.send(OutboundPart(world.private, "lost", key="lost"))
            await world.say(world.private, "back again")
            await intake.wait_for_message("back again")
        assert caught.value.outcome is SendOutcome.NOT_SENT

    async def test_an_edit_is_an_edit_of_its_message(self, world: ChannelWorld) -> None:
        """It has the id of the message, and a date."""
        _need(world, "edits")
        intake = MemoryIntake()
        async with self.receiving(world, intake):
            message_id = await world.say(world.private, "helo")
            await intake.wait_for_message("helo")
            await world.change(world.private, message_id, "hello again")
            found = await intake.wait_for_message("hello again")
        assert (found.kind, found.message_id) == ("edit", message_id)
        assert found.edit_date > 0

    async def test_a_group_tells_whom_a_message_is_for(self, world: ChannelWorld) -> None:
        """The adapter reports facts: the group's rules decide."""
        _need(world, "groups")
        intake = MemoryIntake()
        async with self.receiving(world, intake) as adapter:
            sent = await adapter.send(OutboundPart(world.group, "I am here", key="here"))
            await world.say(world.group, "to all")
            await world.say(world.group, "to the bot", mention=True)
            names = ["to all", "to the bot"]
            if "answers" not in world.lacks:
                await world.say(world.group, "an answer", answers=sent)
                names.append("an answer")
            found = [await intake.wait_for_message(text) for text in names]
        assert not any(message.private for message in found)
        assert [message.mentioned for message in found] == [False, True, False][: len(found)]
        assert [one.replied_to_bot for one in found] == [False, False, True][: len(found)]
        assert found[1].text == "to the bot"

    async def test_another_bot_is_known_as_one(self, world: ChannelWorld) -> None:
        """What it says is no instruction."""
        _need(world, "bots")
        intake = MemoryIntake()
        async with self.receiving(world, intake):
            await world.say_as_bot(world.group, "beep")
            await world.say(world.group, "a person", mention=True)
            await intake.wait_for_message("a person")
        assert [message.from_bot for message in intake.stored] == [True, False]

    async def test_an_answer_stays_in_its_thread(self, world: ChannelWorld) -> None:
        """The thread's id comes with the message and goes with the answer."""
        _need(world, "threads")
        intake = MemoryIntake()
        async with self.receiving(world, intake) as adapter:
            root = await world.say(world.group, "a topic", mention=True)
            await world.say(world.group, "inside", mention=True, thread=root)
            found = await intake.wait_for_message("inside")
            assert found.thread_id
            part = OutboundPart(world.group, "an aside", thread_id=found.thread_id, key="aside")
            await adapter.send(part)
        assert await world.list_shown_texts(f"{world.group}/{found.thread_id}") == ["an aside"]

    async def test_a_file_is_received_and_sent(self, world: ChannelWorld) -> None:
        """Its bytes are the same on both ways."""
        _need(world, "files")
        intake = MemoryIntake()
        async with self.receiving(world, intake) as adapter:
            await world.hand_in_file(world.private, "notes.txt", b"some notes")
            await world.say(world.private, "that was a file")
            await intake.wait_for_message("that was a file")
            attached = [file for found in intake.stored for file in found.attachments]
            assert [file.name for file in attached] == ["notes.txt"]
            assert await adapter.download(attached[0].handle, 1000) == b"some notes"
            with pytest.raises(SendError):
                await adapter.download(attached[0].handle, 3)
            file = OutboundFile("dot.png", "image/png", PICTURE)
            await adapter.send(OutboundPart(world.private, "a dot", file=file, key="dot"))
        assert await world.load_shown_file(world.private) == PICTURE

    async def test_every_part_of_a_long_reply_arrives_in_order(self, world: ChannelWorld) -> None:
        """No part is longer than the platform takes."""
        async with world.open_adapter() as adapter:
            text = "\n\n".join(f"**{number}** " + "word " * 150 for number in range(60))
            for number, piece in enumerate(adapter.split(text)):
                part = OutboundPart(
                    world.private, piece.text, rendered=piece.rendered, key=f"long-{number}"
                )
                await adapter.send(part)
        shown = " ".join(await world.list_shown_texts(world.private))
        assert [int(word) for word in shown.split() if word.isdecimal()] == [*range(60)]

    async def test_what_may_have_arrived_is_told_and_may_be_repeated(
        self, world: ChannelWorld
    ) -> None:
        """Where sending it again does no harm, it stands in the chat once."""
        async with world.open_adapter() as adapter:
            part = OutboundPart(world.private, "once", key="once")
            async with world.lose_answers():
                with pytest.raises(SendError) as caught:
                    await adapter.send(part)
            assert caught.value.outcome is SendOutcome.UNKNOWN
            if adapter.deduplicates:
                await adapter.send(part)
                await adapter.send(OutboundPart(world.private, "once", key="another"))
                assert await world.list_shown_texts(world.private) == ["once", "once"]

    async def test_a_flooded_platform_says_when_to_go_on(self, world: ChannelWorld) -> None:
        """It reports the wait; the message was certainly not sent."""
        _need(world, "flood")
        async with world.open_adapter() as adapter, world.flood():
            with pytest.raises(SendError) as caught:
                await _send_many(adapter, world.private)
        assert caught.value.outcome is SendOutcome.NOT_SENT
        assert caught.value.retry_after is not None

    async def test_a_chat_that_is_gone_is_told_apart(self, world: ChannelWorld) -> None:
        """The message will never arrive."""
        async with world.open_adapter() as adapter:
            chat = await world.leave()
            with pytest.raises(SendError) as caught:
                await adapter.send(OutboundPart(chat, "hello?", key="gone"))
        assert caught.value.outcome is SendOutcome.PERMANENT

    async def test_a_sent_message_is_changed_and_removed(self, world: ChannelWorld) -> None:
        """An edit that changes nothing succeeds."""
        _need(world, "edits")
        async with world.open_adapter() as adapter:
            message_id = await adapter.send(OutboundPart(world.private, "draft", key="draft"))
            for key in ("final", "again"):
                await adapter.edit(OutboundPart(world.private, "final", key=key), message_id)
            assert await world.list_shown_texts(world.private) == ["final"]
            await adapter.remove(world.private, message_id)
            if "gone" not in world.lacks:
                with pytest.raises(SendError) as caught:
                    await adapter.edit(OutboundPart(world.private, "late", key="l"), message_id)
                assert caught.value.outcome is SendOutcome.GONE
        assert await world.list_shown_texts(world.private) == []

    async def test_typing_is_shown(self, world: ChannelWorld) -> None:
        """A failure is reported, and harmless."""
        async with world.open_adapter() as adapter:
            await adapter.show_typing(world.private, None)

    async def test_a_message_that_cannot_be_sent_is_an_error_of_the_contract(
        self, world: ChannelWorld
    ) -> None:
        """Nothing else is raised, whatever the chat is called."""
        _need(world, "chats")
        async with world.open_adapter() as adapter:
            with pytest.raises(SendError):
                await adapter.send(OutboundPart("no such chat", "hello", key="nowhere"))
