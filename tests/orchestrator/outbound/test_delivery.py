"""What happens to a row of the outbox after each outcome of a platform call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import apsw
import pytest
from fakes.channel import FakeChannel
from fakes.journal import open_turn, opened
from fakes.time_limit import time_limit

from orchestrator.channel_api import SendOutcome
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import outbox, turns
from orchestrator.journal.turns.outbox import Address, Part
from orchestrator.outbound.delivery import MAX_RETRY_DELAY, Delivery


@dataclass
class Outbox:
    """A delivery to one channel, at a time that a test sets."""

    store: Store
    channel: FakeChannel
    now: int = 0

    def __post_init__(self) -> None:
        self.tasks = anyio.create_task_group()
        adapters = {self.channel.name: self.channel}
        self.delivery = Delivery(self.store, adapters, self.tasks, lambda: self.now)

    async def add(self, text: str, chat_id: str = "7", again: int = 0) -> None:
        """Queue a message of the daemon."""

        def add_notice(db: apsw.Connection) -> None:
            address = Address("telegram", "1", chat_id)
            outbox.add_notice(db, address, text, self.now, again=again)

        await self.store.transact(add_notice)
        self.delivery.wake("telegram")

    async def states(self) -> list[object]:
        """The states of all rows, once none is due."""
        await self.delivery.wait_idle()
        return self.store.read(lambda db: [state for (state,) in db.execute(STATES)])

    def pass_retry_delay(self) -> None:
        """Let the time come at which rows are sent again."""
        self.now += round(MAX_RETRY_DELAY * 1000)
        self.delivery.wake()


STATES = "SELECT state FROM outbox ORDER BY id"


@asynccontextmanager
async def delivering(folder: Path, *outcomes: SendOutcome | None) -> AsyncIterator[Outbox]:
    """The delivery of a folder's journal; these are the outcomes of the first calls."""
    channel = FakeChannel()
    channel.outcomes.extend(outcomes)
    store = Store(folder / "journal.db")
    try:
        running = Outbox(store, channel)
        async with running.tasks as tasks:
            tasks.start_soon(running.delivery.run, "telegram")
            with time_limit():
                yield running
            tasks.cancel_scope.cancel()
    finally:
        store.close()


@pytest.mark.parametrize(
    ("outcome", "again", "states"),
    [
        (SendOutcome.NOT_SENT, 0, ("queued", "delivered")),
        (SendOutcome.PERMANENT, 0, ("failed_permanent", "failed_permanent")),
        (SendOutcome.UNKNOWN, 0, ("unknown", "unknown")),
        (SendOutcome.UNKNOWN, 1, ("queued", "delivered")),
    ],
)
async def test_outcome_of_a_message_decides_whether_it_is_sent_again(
    tmp_path: Path, outcome: SendOutcome, again: int, states: tuple[str, str]
) -> None:
    """After a while, and never twice where the first may have arrived."""
    async with delivering(tmp_path, outcome) as running:
        await running.add("hello", again=again)
        assert await running.states() == [states[0]]
        running.pass_retry_delay()
        assert await running.states() == [states[1]]
        assert len(running.channel.calls) == 1 + (states[1] == "delivered")


@pytest.mark.parametrize(
    ("outcomes", "calls", "texts"),
    [
        ((), ["send", "edit"], ["done"]),
        ((None, SendOutcome.UNKNOWN), ["send", "edit", "edit"], ["done"]),
        ((None, SendOutcome.GONE), ["send", "edit", "send", "edit"], ["…", "done"]),
    ],
)
async def test_reply_takes_the_place_of_its_placeholder(
    tmp_path: Path, outcomes: tuple[SendOutcome | None, ...], calls: list[str], texts: list[str]
) -> None:
    """An edit is repeated; where the placeholder was deleted, there is a new one."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
        with db:
            turns.reply(db, turn, [Part("done")], "edit", ("done", None), 0)
    async with delivering(tmp_path, *outcomes) as running:
        while await running.states() != ["delivered"]:
            running.pass_retry_delay()
        assert running.channel.calls == calls
        assert list(running.channel.texts.values()) == texts


async def test_slow_chat_holds_up_no_other(tmp_path: Path) -> None:
    """Each chat has one message on its way; delivery is idle when all have arrived."""
    async with delivering(tmp_path) as running:
        gate = running.channel.held["7"] = anyio.Event()
        for text, chat_id in (("first", "7"), ("second", "7"), ("other", "8")):
            await running.add(text, chat_id)
        while "other" not in running.channel.texts.values():
            await anyio.lowlevel.checkpoint()
        gate.set()
        assert await running.states() == ["delivered"] * 3
        assert list(running.channel.texts.values()) == ["other", "first", "second"]


async def test_row_of_a_clock_that_was_set_back_is_sent_at_once(tmp_path: Path) -> None:
    """Its time is further off than any retry."""
    async with delivering(tmp_path, SendOutcome.NOT_SENT) as running:
        running.now = 10_000_000
        await running.add("hello")
        assert await running.states() == ["queued"]
        running.now = 0
        running.delivery.wake()
        assert await running.states() == ["delivered"]


async def test_preview_of_an_answer_becomes_its_reply(tmp_path: Path) -> None:
    """The words that were shown first are edited; the reply needs no message of its own."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
    address = Address("telegram", "1", "7")
    async with delivering(tmp_path) as running:
        async with running.delivery.preview(turn.id, address) as preview:
            preview.show("These words are long enough to be shown.")
            while not running.channel.texts:
                await anyio.lowlevel.checkpoint()
            assert not preview.withdraw()

        def reply(db: apsw.Connection) -> None:
            turns.reply(db, turn, [Part("These are the last words.")], "edit", ("done", None), 0)

        await running.store.transact(reply)
        running.delivery.wake()
        assert await running.states() == ["delivered"]
        assert list(running.channel.texts.values()) == ["These are the last words."]
