"""A channel whose process dies, hangs or is told otherwise: what is known of its messages."""

import base64
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest
from fakes.agents_file import validate_file
from fakes.time_limit import time_limit
from pydantic import JsonValue

from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.channel_kinds import ChannelKind
from orchestrator.channel_api import (
    Attachment,
    InboundMessage,
    OutboundFile,
    OutboundPart,
    SendError,
    SendOutcome,
)
from orchestrator.channelhost.channel_wire import (
    MAX_SENT_FILE,
    MAX_TEXT,
    STATE,
    MessageName,
    OutgoingMessage,
    ReceivedFile,
    ReceivedMessage,
)
from orchestrator.channelhost.foreign_channel import ChannelInbox
from orchestrator.extensions.channel_folders.hosted_channel import HostedChannel
from orchestrator.extensions.channel_folders.testing.channel_tests import MemoryIntake
from orchestrator.extensions.channel_folders.testing.memory_host import build_agents, hosted_channel
from orchestrator.loop_bound import mark_journal_job
from orchestrator.processes.restarts import ExitKind

OPTIONS = {"loft": "https://m.example", "user": "@bot:m.example"}
SECRETS = {"PIGEON_TOKEN": "t"}
PIGEON = ChannelKind(
    title="Pigeon",
    secrets={"PIGEON_TOKEN": "ask its keeper"},
    limit=1000,
    id_pattern=".+",
    id_example="ann",
)
HELLO = ReceivedMessage(chat_id="!a:x", message_id="1", sender_id="@ann:x", text="hello")


@dataclass
class ScriptedChannel:
    """A foreign channel that does what a test says."""

    options: Mapping[str, str] = field(default_factory=dict)
    batches: list[list[ReceivedMessage]] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    sent: list[OutgoingMessage] = field(default_factory=list)
    runs: int = 0
    closed: bool = False
    hang: bool = False
    failed: anyio.Event = field(default_factory=anyio.Event)

    async def run(self, inbox: ChannelInbox) -> None:
        """Hand in the batches, each under its number."""
        self.runs += 1
        at = int(await inbox.load_cursor() or "0")
        inbox.report_receiving()
        for number in range(at, len(self.batches)):
            await inbox.store_messages(self.batches[number], str(number + 1))
        if self.failures:
            self.failed.set()
            raise self.failures.pop(0)
        await anyio.sleep_forever()

    async def send(self, message: OutgoingMessage) -> str:
        """Send, hang or fail."""
        if self.hang:
            await anyio.sleep_forever()
        if self.failures:
            raise self.failures.pop(0)
        self.sent.append(message)
        return f"m{len(self.sent)}"

    async def edit(self, message: OutgoingMessage) -> None:
        """Edit."""
        self.sent.append(message)

    async def remove(self, message: MessageName) -> None:
        """Remove."""
        assert message.message_id

    async def show_typing(self, chat: MessageName) -> None:
        """Type."""
        assert chat.chat_id

    async def download(self, handle: str, limit: int) -> bytes:
        """Return more than was asked for, if that is little."""
        assert handle == "h"
        return b"x" * min(limit + 1, 100)

    async def close(self) -> None:
        """Note it."""
        self.closed = True


@asynccontextmanager
async def running(
    scripted: ScriptedChannel, intake: MemoryIntake | None = None
) -> AsyncIterator[HostedChannel]:
    """A channel whose process runs, and which takes messages if there is an intake."""
    async with (
        hosted_channel(
            PIGEON, "pigeon", lambda: build_agents("pigeon", OPTIONS), SECRETS, lambda *_: scripted
        ) as (channel, _),
        anyio.create_task_group() as tasks,
    ):
        if intake is not None:
            tasks.start_soon(channel.run, intake)
        yield channel
        tasks.cancel_scope.cancel()


async def outcome(channel: HostedChannel) -> SendError:
    """How sending a message fails."""
    with pytest.raises(SendError) as caught:
        await channel.send(OutboundPart("!a:x", "hi", key="k"))
    return caught.value


async def test_a_message_goes_out_with_its_key_and_the_markup_of_its_text() -> None:
    """The process gets plain text and safe HTML, and the file as base64."""
    scripted = ScriptedChannel()
    async with running(scripted) as channel:
        file = OutboundFile("a.txt", "text/plain", b"abc", voice=True)
        part = OutboundPart(
            "!a:x", "**b** <i>", key="7-1", queued_at=5, file=file, thread_id="t", reply_to="r"
        )
        assert await channel.send(part) == "m1"
        await channel.edit(OutboundPart("!a:x", "plain *text*", markdown=False), "m1")
        await channel.remove("!a:x", "m1")
        await channel.show_typing("!a:x", None)
    first, second = scripted.sent
    assert (first.text, first.html, first.key) == ("b <i>", "<b>b</b> &lt;i&gt;", "7-1")
    assert (first.thread_id, first.reply_to, first.queued_at) == ("t", "r", 5)
    assert first.file is not None
    assert base64.b64decode(first.file.data) == b"abc"
    assert (first.voice, second.voice) == (True, False)
    assert (second.text, second.html, second.message_id) == ("plain *text*", "", "m1")
    assert scripted.closed


async def test_a_failure_of_the_platform_reaches_delivery_as_it_is() -> None:
    """What is known, and how long to wait."""
    refusal = SendError("slow down", SendOutcome.NOT_SENT, 7.0)
    scripted = ScriptedChannel()
    async with running(scripted) as channel:
        scripted.failures = [refusal, ValueError("whatever the library raises")]
        known, unknown = await outcome(channel), await outcome(channel)
    assert (known.outcome, known.retry_after, str(known)) == ("not_sent", 7.0, "slow down")
    assert unknown.outcome is SendOutcome.UNKNOWN
    assert "whatever the library raises" in str(unknown)


async def test_a_process_that_dies_with_a_message_leaves_it_unknown() -> None:
    """Without a process a message was certainly not sent."""
    scripted = ScriptedChannel(hang=True)
    async with running(scripted) as channel:
        child = channel.child
        assert child is not None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_dies_with, channel, SendOutcome.UNKNOWN)
            with time_limit():
                while not child.peer.has_pending_request:
                    await anyio.lowlevel.checkpoint()
            child.peer.mark_lost()
        assert (await outcome(channel)).outcome is SendOutcome.NOT_SENT


async def test_a_reply_is_cut_within_the_transaction_that_ends_its_turn() -> None:
    """That job of the journal runs on another thread, and asks the channel for the parts."""
    async with running(ScriptedChannel()) as channel:
        with mark_journal_job():
            assert [part.text for part in channel.split("an answer")] == ["an answer"]


async def _dies_with(channel: HostedChannel, expected: SendOutcome) -> None:
    assert (await outcome(channel)).outcome is expected


async def test_a_file_that_the_wire_cannot_hold_is_refused_for_good() -> None:
    """The sentence says how large it may be; what is received has a limit as well."""
    async with running(ScriptedChannel()) as channel:
        file = OutboundFile("big", "video/mp4", bytes(MAX_SENT_FILE + 1))
        with pytest.raises(SendError, match="limited to 11 MB") as caught:
            await channel.send(OutboundPart("!a:x", "", file=file))
        assert caught.value.outcome is SendOutcome.PERMANENT
        with pytest.raises(SendError, match="over 50 bytes"):
            await channel.download("h", 50)
        assert len(await channel.download("h", 1000)) == 100


async def test_received_messages_are_stored_with_their_cursor_before_more_are_taken() -> None:
    """An intake that refuses gets the same again."""
    intake = MemoryIntake()
    intake.full = True
    file = ReceivedFile(handle="h", about="file: a.txt", name="a.txt", voice=True)
    pictured = HELLO.model_copy(update={"message_id": "2", "text": "", "attachments": (file,)})
    edited = HELLO.model_copy(update={"edit_date": 5, "text": "hello!"})
    scripted = ScriptedChannel(batches=[[HELLO], [pictured, edited]])
    async with running(scripted, intake) as channel:
        await intake.wait_for_refusals(1)
        assert intake.stored == []
        intake.full = False
        found = await intake.wait_for_message("hello!")
        assert channel.status.state == "ok"
    assert (found.kind, found.edit_date, found.channel) == ("edit", 5, "pigeon")
    assert [message.text for message in intake.stored] == ["hello", "", "hello!"]
    assert intake.stored[1].attachments == (Attachment("h", "file: a.txt", "a.txt", voice=True),)
    assert await intake.load_cursor("", "") == "2"


async def test_what_no_agent_can_read_is_told() -> None:
    """An empty message is skipped, one that is too long is answered with the limit."""
    intake = MemoryIntake()
    empty = HELLO.model_copy(update={"message_id": "2", "text": " "})
    long = HELLO.model_copy(update={"message_id": "3", "text": "x" * (MAX_TEXT + 1)})
    async with running(ScriptedChannel(batches=[[empty, long, HELLO]]), intake):
        await intake.wait_for_message("hello")
    assert [message.skip for message in intake.stored] == ["no text", "too long", None]
    assert "I read up to 100,000 characters" in str(intake.stored[1].notice)


async def test_cursor_moves_past_what_brings_no_message() -> None:
    """After a restart nothing of it comes again, as it would when an own message is the last."""
    intake = MemoryIntake()
    scripted = ScriptedChannel(batches=[[HELLO], []], failures=[ValueError("cut off")])
    async with running(scripted, intake):
        with time_limit():
            await scripted.failed.wait()
    assert await intake.load_cursor("", "") == "2"


async def test_more_messages_than_a_batch_takes_are_stored_in_order() -> None:
    """The cursor moves with the last of them."""
    intake = MemoryIntake()
    many = [HELLO.model_copy(update={"message_id": str(n), "text": f"{n}."}) for n in range(250)]
    async with running(ScriptedChannel(batches=[many]), intake):
        await intake.wait_for_message("249.")
    assert intake.list_texts("!a:x") == [f"{n}." for n in range(250)]
    assert await intake.load_cursor("", "") == "1"


async def test_a_lost_connection_is_shown_and_begun_again() -> None:
    """The state has the reason until messages are received again."""
    intake = MemoryIntake()
    failures: list[Exception] = [SendError("the token was refused", SendOutcome.NOT_SENT, 0.0)]
    scripted = ScriptedChannel(failures=failures)
    async with running(scripted, intake) as channel:
        with time_limit():
            await scripted.failed.wait()
            while scripted.runs < 2 or channel.status.state != "ok":
                await anyio.lowlevel.checkpoint()
    assert scripted.runs == 2


async def test_a_stopping_daemon_takes_no_more_messages_but_sends() -> None:
    """What is in the outbox goes out after the channels have stopped."""
    intake = MemoryIntake()
    scripted = ScriptedChannel(batches=[[HELLO]])
    async with running(scripted) as channel:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.run, intake)
            await intake.wait_for_message("hello")
            tasks.cancel_scope.cancel()
        assert channel.status.state == "stopped"
        assert await channel.send(OutboundPart("!a:x", "bye", key="k")) == "m1"


async def test_an_edit_of_the_configuration_replaces_the_process() -> None:
    """Options, secrets and "enabled" apply at once; what is missing is said."""
    options, secrets = dict(OPTIONS), dict(SECRETS)
    sections: list[AgentsFile] = [build_agents("pigeon", options)]
    made: list[Mapping[str, str]] = []

    def connect(options: Mapping[str, str], given: Mapping[str, str]) -> ScriptedChannel:
        made.append({**options, **given})
        return ScriptedChannel(options)

    async with hosted_channel(PIGEON, "pigeon", lambda: sections[-1], secrets, connect) as (
        channel,
        edit,
    ):
        sections.append(build_agents("pigeon", {**OPTIONS, "user": "@other:m.example"}))
        await _replaced(channel, edit)
        secrets["PIGEON_TOKEN"] = "new"
        await _replaced(channel, edit)
        secrets["PIGEON_TOKEN"] = ""
        edit()
        assert channel.status.detail == "PIGEON_TOKEN is not set; put it in keys.env"
        await _gone(channel)
        sections.append(replace_enabled(sections[-1]))
        edit()
        assert (channel.status.state, channel.status.detail) == ("off", "")
    assert [found["user"] for found in made] == ["@bot:m.example", *["@other:m.example"] * 2]
    assert made[-1]["PIGEON_TOKEN"] == "new"


async def test_missing_key_is_said_also_where_no_messages_are_received_any_more() -> None:
    """Nothing can be sent either."""
    agents, secrets = build_agents("pigeon", OPTIONS), dict(SECRETS)
    async with hosted_channel(
        PIGEON, "pigeon", lambda: agents, secrets, lambda *_: ScriptedChannel()
    ) as (channel, edit):
        secrets["PIGEON_TOKEN"] = ""
        edit()
        await _gone(channel)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.run, MemoryIntake())
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        assert channel.status.state == "degraded"
        assert channel.status.detail == "PIGEON_TOKEN is not set; put it in keys.env"


async def test_process_that_cannot_start_is_shown_with_its_own_reason() -> None:
    """That of its end would only name an exit code."""
    async with running(ScriptedChannel()) as channel:
        assert channel.child is not None
        report: JsonValue = {"state": "starting", "detail": "SyntaxError: invalid syntax"}
        channel.child.peer.notifications[STATE](report)
        channel.on_child_ended(ExitKind.CRASH, "ended with exit code 1")
        assert channel.status.state == "degraded"
        assert channel.status.detail == "SyntaxError: invalid syntax"
        channel.on_child_ended(ExitKind.CRASH, "ended with exit code 9")
        assert channel.status.detail == "ended with exit code 9"


async def test_a_channel_that_loses_its_library_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process could not begin, so none is started."""
    (tmp_path / "coo.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    kind = PIGEON.model_copy(update={"requires": ("coo",), "extra": "pigeon"})
    agents = build_agents("pigeon", OPTIONS)
    scripted = ScriptedChannel()
    async with hosted_channel(kind, "pigeon", lambda: agents, SECRETS, lambda *_: scripted) as (
        channel,
        edit,
    ):
        monkeypatch.setitem(sys.modules, "coo", None)
        edit()
        await _gone(channel)
        assert channel.status.state == "degraded"
        assert channel.status.detail.startswith("coo is not installed; run: ")
        assert channel.status.detail.endswith("pip install 'orchestrator-daemon[pigeon]'")
        with pytest.raises(SendError, match="does not run: coo is not installed"):
            await channel.send(OutboundPart("!a:x", "hello", key="k"))


def replace_enabled(agents: AgentsFile) -> AgentsFile:
    """The same file with the channel switched off."""
    document = agents.model_dump(by_alias=True, exclude_defaults=True)
    document["channels"]["pigeon"]["enabled"] = False
    return validate_file(document)


async def _replaced(channel: HostedChannel, edit: Callable[[], None]) -> None:
    before = channel.child
    edit()
    with time_limit():
        while channel.child is None or channel.child is before:
            await anyio.lowlevel.checkpoint()


async def _gone(channel: HostedChannel) -> None:
    with time_limit():
        while channel.child is not None:
            await anyio.lowlevel.checkpoint()


def test_a_received_message_has_every_fact_that_admission_asks_for() -> None:
    """A field that is missing on the wire would silently be its default."""
    facts = {"mentioned", "replied_to_bot", "from_bot", "private", "thread_id", "sender_name"}
    assert facts <= set(ReceivedMessage.model_fields)
    assert set(ReceivedMessage.model_fields) <= {*InboundMessage.__dataclass_fields__}
    assert replace(InboundMessage("c", "b", "1", "2", "3"), mentioned=True).mentioned
