"""A delivery to a chat platform in memory, and an answer that it shows while it is written."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from fakes.channel import FakeChannel, silent
from fakes.journal import end_cleanly, open_turn, opened, store_in
from fakes.time_limit import time_limit

from orchestrator.channel_api import SendOutcome
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import outbox, turns
from orchestrator.journal.turns.outbox import Address, OutboxPart
from orchestrator.journal.turns.turns import Turn
from orchestrator.outbound.chat_queue import Preview
from orchestrator.outbound.delivery import Delivery
from orchestrator.outbound.platform import MAX_RETRY_DELAY
from orchestrator.placement import Placement, SingleNode

HERE = Address("telegram", "1", "7")
WORDS = "These words are long enough to be shown."
FIRST = "These words are long …"  # as a preview begins
STATES = "SELECT state FROM outbox ORDER BY id"


@dataclass
class Outbox:
    """A delivery to one channel, at a time that a test sets."""

    store: Store
    channel: FakeChannel
    now: int = 0
    placement: Placement = field(default_factory=SingleNode)

    def __post_init__(self) -> None:
        self.tasks = anyio.create_task_group()
        adapters = {self.channel.name: self.channel}
        self.delivery = Delivery(
            self.store, adapters, self.tasks, lambda: self.now, silent, 0.0, self.placement
        )

    async def add(self, text: str, chat_id: str = "7", again: int = 0) -> None:
        """Queue a message of the daemon."""

        def add_notice(db: Database) -> None:
            address = Address("telegram", "1", chat_id)
            outbox.add_notice(db, address, text, self.now, again=again)

        await self.store.transact(add_notice)
        self.delivery.wake()

    async def states(self) -> list[object]:
        """The states of all rows, once none is due."""
        await self.delivery.wait_idle()
        return await self.store.read(lambda db: [state for (state,) in db.execute(STATES)])

    async def reply(self, turn: Turn, text: str) -> None:
        """End a turn with its reply (T6)."""

        def end(db: Database) -> None:
            turns.end_with_reply(db, turn, [OutboxPart(text)], "edit", ("done", None), self.now)

        await self.store.transact(end)
        self.delivery.wake()

    async def queued(self, count: int) -> None:
        """Wait until so many rows were ever queued and none of them is due."""
        while len(await self.states()) < count:
            await anyio.lowlevel.checkpoint()

    @property
    def shown(self) -> list[str]:
        """What stands in all chats, in the order of the platform's numbers."""
        return list(self.channel.texts.values())

    def pass_retry_delay(self) -> None:
        """Let the time come at which rows are sent again."""
        self.now += round(MAX_RETRY_DELAY * 1000)
        self.delivery.wake()


@asynccontextmanager
async def delivering(
    folder: Path, *outcomes: SendOutcome | float | None, placement: Placement | None = None
) -> AsyncIterator[Outbox]:
    """The delivery of a folder's journal; these are the outcomes of the first calls."""
    channel = FakeChannel()
    channel.outcomes.extend(outcomes)
    end_cleanly(folder)
    store = store_in(folder)
    try:
        running = Outbox(store, channel, placement=placement or SingleNode())
        async with running.tasks as tasks:
            tasks.start_soon(running.delivery.run, "telegram")
            with time_limit():
                yield running
            tasks.cancel_scope.cancel()
    finally:
        store.close()


@dataclass
class Answer:
    """A turn of chat 7 whose answer is written."""

    running: Outbox
    turn: Turn
    preview: Preview


@asynccontextmanager
async def answering(
    folder: Path, *outcomes: SendOutcome | float | None, owner: str = ""
) -> AsyncIterator[Answer]:
    """A message of the daemon is queued, and then the first words of an answer are."""
    with opened(folder) as db:
        turn = open_turn(db)
    async with delivering(folder, *outcomes) as running:
        await running.add("before")
        await running.queued(1)
        with running.delivery.open_preview(turn.id, HERE, owner) as preview:
            preview.show_text(WORDS)
            await running.queued(2)
            yield Answer(running, turn, preview)
