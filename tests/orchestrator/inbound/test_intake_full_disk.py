"""A full disk as a chat and an operator see it: nothing is confirmed, everybody is told once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import pytest
from fakes.commands import NoQueues, command_desk

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import ChannelStatus, InboundMessage, Intake, OutboundPart
from orchestrator.control import status
from orchestrator.inbound.intake import NO_SPACE, JournalIntake
from orchestrator.journal.db.store import StorageFullError, Store
from orchestrator.journal.inspect import recent

AGENTS = AgentsFile.model_validate(
    {
        "agents": [{"agentId": "work", "llmProvider": "demo"}],
        "bindings": [{"channel": "telegram", "chatId": "7", "agentId": "work"}],
    }
)


class Chats:
    """A channel that keeps what it is told to send."""

    name, bot_id, edits = "telegram", "1", True
    from_journal = False

    def __init__(self) -> None:
        self.status = ChannelStatus("telegram", "ok", last_ok=1000.0)
        self.sent: list[OutboundPart] = []

    async def run(self, intake: Intake) -> None:
        """Hears nothing."""

    def split(self, text: str) -> tuple[str, ...]:
        """One part."""
        return (text,)

    async def send(self, part: OutboundPart) -> str:
        """Keep it."""
        self.sent.append(part)
        return str(len(self.sent))

    async def edit(self, part: OutboundPart, message_id: str) -> None:
        """Nothing is edited here."""

    def view(self, chat_id: str, text: str) -> None:
        """Nothing is streamed here."""

    async def download(self, handle: str, limit: int) -> bytes:
        """Nothing is attached here."""
        raise NotImplementedError(handle, limit)

    def delivered_when_stored(self, chat_id: str) -> bool:
        """It has to be sent."""
        del chat_id
        return False

    def replied(self, chat_id: str) -> None:
        """Nothing is read here."""

    async def typing(self, chat_id: str, thread_id: str | None) -> None:
        """Nothing is answered here."""


def says(number: int, chat_id: str, text: str = "x" * 1_000_000) -> InboundMessage:
    """An update that is too big for the disk, unless its text is short."""
    return InboundMessage(
        channel="telegram",
        bot_id="1",
        chat_id=chat_id,
        message_id=str(number),
        sender_id=chat_id,
        text=text,
        update_id=number,
    )


def limit(db: apsw.Connection, pages: int) -> None:
    """Let the file have so many pages."""
    db.execute(f"PRAGMA max_page_count={pages:d}")


@asynccontextmanager
async def full(folder: Path) -> AsyncIterator[tuple[Store, Chats, JournalIntake]]:
    """A store that can take no more, and what hands messages to it."""
    store, chats = Store(folder / "journal.db", retry=0.01), Chats()
    try:
        await store.attempt(limit, 1)
        commands = command_desk(store, lambda: AGENTS)
        adapters = {"telegram": chats}
        lanes, nothing = NoQueues(), lambda: None
        yield store, chats, JournalIntake(store, lambda: AGENTS, adapters, lanes, nothing, commands)
    finally:
        store.close()


async def test_each_admitted_chat_is_told_once_and_nothing_is_confirmed(tmp_path: Path) -> None:
    """However often the platform repeats the message; strangers are told nothing."""
    async with full(tmp_path) as (store, chats, intake):
        for _ in range(3):
            with pytest.raises(StorageFullError):
                await intake.accept([says(1, "7"), says(2, "8")], 3)
        assert [(part.chat_id, part.text) for part in chats.sent] == [("7", NO_SPACE)]
        assert await intake.offset("telegram", "1") == 0
        await store.attempt(limit, 1_000_000)
        await intake.accept([says(1, "7"), says(2, "8")], 3)
        assert await intake.offset("telegram", "1") == 3
        assert (await store.transact(recent.counts))["new"] == 1
        await store.attempt(limit, 1)
        with pytest.raises(StorageFullError):
            await intake.accept([says(4, "7")], 5)
        assert [part.chat_id for part in chats.sent] == ["7", "7"]


async def test_health_names_everything_that_keeps_messages_from_being_answered(
    tmp_path: Path,
) -> None:
    """A stopping daemon, a deaf channel, a journal that takes no write; the last one is tried."""
    store, chats = Store(tmp_path / "journal.db"), Chats()
    ready = await status.health(store, [chats], 1100.0, admitting=True)
    assert (ready.ready, ready.reasons) == (True, ())
    chats.status.detail = "token refused"
    broken = await status.health(store, [chats], 1120.0, admitting=False)
    store.close()
    assert not broken.ready
    assert broken.reasons == (
        "the daemon is stopping",
        "channel telegram has not heard from its platform for 120 seconds (token refused)",
    )
    closed = await status.health(store, [], 1100.0, admitting=True)
    assert closed.reasons == ("the journal cannot be written: the journal is closed",)


@pytest.mark.parametrize(("state", "ready"), [("ok", True), ("starting", False)])
async def test_channel_that_never_polled_is_judged_by_its_state(
    tmp_path: Path, state: str, *, ready: bool
) -> None:
    """The console has nothing to poll; a Telegram that is still starting is not ready."""
    store, chats = Store(tmp_path / "journal.db"), Chats()
    chats.status = ChannelStatus("telegram", state)
    assert (await status.health(store, [chats], 0.0, admitting=True)).ready is ready
    store.close()
