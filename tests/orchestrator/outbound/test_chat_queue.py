"""Messages of a chat stand as they were queued, whatever fails and whenever the process ends."""

import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from fakes.channel import FakeChannel, silent
from fakes.delivering import HERE, WORDS, Outbox, answering, delivering
from fakes.journal import job, open_turn, opened, store_in
from fakes.placed_agents import PlacedAgents
from fakes.time_limit import time_limit

from orchestrator.channel_api import OutboundPart, SendError, SendOutcome
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import outbox, turns
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.turns import Turn
from orchestrator.outbound.chat_queue import Preview
from orchestrator.outbound.delivery import Delivery
from orchestrator.outbound.lost_replies import MAX_PLACES, REPEATED
from orchestrator.outbound.platform import MAX_RETRY_DELAY

pytestmark = pytest.mark.usefixtures("reads")

WIDE = pytest.mark.thorough(part="properties")
SEEDS = [*range(5), *(pytest.param(seed, marks=WIDE) for seed in range(5, 40))]
FATES = ("sent", "sent", "not sent", "lost", "refused for good")
PLACES = (
    "SELECT coalesce(ph_id, msg_id), body, state FROM outbox"
    " WHERE coalesce(ph_id, msg_id) IS NOT NULL ORDER BY id"
)
OPEN = f"SELECT count(*) FROM outbox WHERE {outbox.OPEN}"  # noqa: S608 - of constants


class FlakyChannel(FakeChannel):
    """A platform whose calls take a while and fail by chance, before or after their effect."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self.rng = rng

    async def send(self, part: OutboundPart) -> str:
        """Send, or not."""
        fate = self.rng.choice(FATES)
        await pass_by(self.rng.randrange(4))
        if fate == "not sent":
            raise SendError(fate, SendOutcome.NOT_SENT)
        if fate == "refused for good":
            raise SendError(fate, SendOutcome.PERMANENT)
        message_id = await super().send(part)
        await pass_by(self.rng.randrange(4))
        if fate == "lost":
            raise SendError(fate, SendOutcome.UNKNOWN)
        return message_id

    async def edit(self, part: OutboundPart, message_id: str) -> None:
        """Edit, or say so without having done it."""
        if self.rng.random() < 1 / 4:
            raise SendError("no answer", SendOutcome.UNKNOWN)
        await pass_by(self.rng.randrange(4))
        await super().edit(part, message_id)


async def pass_by(times: int) -> None:
    """Let other tasks run so often."""
    for _ in range(times):
        await anyio.lowlevel.checkpoint()


@dataclass
class Lives:
    """Processes that come after each other, with one journal and one platform."""

    store: Store
    channel: FakeChannel
    rng: random.Random
    now: int = 0
    delivery: Delivery = field(init=False)

    @asynccontextmanager
    async def process(self) -> AsyncIterator[None]:
        """A process, which ends in the midst of what it does."""
        await self.store.transact(turns.boot, self.now)
        async with anyio.create_task_group() as tasks:
            adapters = {self.channel.name: self.channel}
            self.delivery = Delivery(self.store, adapters, tasks, lambda: self.now, silent, 0.0)
            tasks.start_soon(self.delivery.run, "telegram")
            yield
            tasks.cancel_scope.cancel()

    async def some_time(self) -> None:
        """Let a little or a retry's delay pass."""
        await pass_by(self.rng.randrange(40))
        if self.rng.random() < 1 / 3:
            self.now += round(MAX_RETRY_DELAY * 1000)
        self.delivery.wake()

    async def answer(self, number: int) -> None:
        """A turn that may be streamed, send notes, and end in the next process."""
        await self.store.transact(begin, number)
        mode = self.rng.choice(("edit", "edit", "direct"))
        lives = self.rng.randrange(1, 4)
        for life in range(lives):
            async with self.process(), AsyncExitStack() as stack:
                for _ in range(self.rng.randrange(3)):
                    await self.write(stack, number, mode)
                    await self.some_time()
                if life == lives - 1:
                    await self.store.transact(self.end, number, mode)
                    self.delivery.wake()
                    await self.some_time()

    async def write(self, stack: AsyncExitStack, number: int, mode: str) -> None:
        """Show the beginning of an answer, or send a note in its midst."""
        turn_id = f"t{number}"
        if mode == "edit" and self.rng.random() < 1 / 2:
            preview: Preview = stack.enter_context(self.delivery.open_preview(turn_id, HERE))
            preview.show_text(WORDS)
        else:
            note, way = OutboxPart(f"a note of {number}"), self.rng.choice(("edit", "direct"))
            await self.store.transact(outbox.add_extra, turn_id, HERE, [note], way, self.now)
            self.delivery.wake()

    def end(self, db: Database, number: int, mode: str) -> None:
        """T6."""
        parts = [OutboxPart(f"{number}#{part}") for part in range(self.rng.randrange(1, 3))]
        turns.end_with_reply(db, loaded(db, number), parts, mode, ("done", None), self.now)

    async def rest(self) -> None:
        """Send until nothing is left."""
        async with self.process():
            while await self.store.read(lambda db: db.execute(OPEN).get):
                await self.some_time()


def begin(db: Database, number: int) -> None:
    """T1 and T2."""
    db.execute("INSERT INTO meta VALUES('epoch', '1') ON CONFLICT DO NOTHING")
    open_turn(db, f"t{number}")


def loaded(db: Database, number: int) -> Turn:
    """A turn as it is in this epoch."""
    return turns.load_turn(db, f"t{number}")


@pytest.mark.parametrize("seed", SEEDS)
async def test_messages_stand_in_the_order_in_which_they_were_queued(
    tmp_path: Path, seed: int
) -> None:
    """By the platform's numbers, and each with its own text."""
    rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
    channel, store = FlakyChannel(rng), store_in(tmp_path)
    lives = Lives(store, channel, rng)
    try:
        with time_limit():
            for number in range(1, 5):
                await lives.answer(number)
            await lives.rest()
        placed = await store.read(lambda db: list(db.execute(PLACES)))
    finally:
        store.close()
    numbers = [int(place) for place, *_ in placed]
    assert numbers == sorted(set(numbers))
    shown = [(channel.texts[place], body) for place, body, state in placed if state == "delivered"]
    assert [text for text, _ in shown] == [body for _, body in shown]


async def shown_again(running: Outbox, turn: Turn) -> None:
    """Reply in place of message 2, let an older edit of it land, and let the time pass for it."""
    await running.reply(turn, "done")
    assert await running.states() == ["delivered", "ph_sent"]
    assert running.channel.texts["2"] == "done"
    running.channel.texts["2"] = f"{WORDS} …"
    await running.add("after")
    assert await running.states() == ["delivered", "ph_sent", "delivered"]
    running.pass_retry_delay()
    assert await running.states() == ["delivered"] * 3
    assert running.channel.texts["2"] == "done"


@asynccontextmanager
async def killed(folder: Path) -> AsyncIterator[tuple[Outbox, Turn]]:
    """The next process, after one that was showing how message 2 grows."""
    async with answering(folder) as answer:
        assert await answer.running.states() == ["delivered", "ph_sent"]
    async with delivering(folder) as running:
        running.channel.sent += answer.running.channel.sent
        running.channel.texts |= answer.running.channel.texts
        await running.store.transact(turns.boot, running.now)
        yield running, await running.store.read(turns.load_turn, answer.turn.id)


async def test_late_edit_of_a_killed_process_does_not_stay(tmp_path: Path) -> None:
    """The reply takes its place again, and nothing waits for that."""
    async with killed(tmp_path) as (running, turn):
        await shown_again(running, turn)


async def test_late_edit_that_got_no_answer_does_not_stay(tmp_path: Path) -> None:
    """Nor within one process."""
    async with answering(tmp_path, None, None, SendOutcome.UNKNOWN) as answer:
        answer.preview.show_text(f"{WORDS} And there are more.")
        while "edit" not in answer.running.channel.calls:
            await anyio.lowlevel.checkpoint()
        await shown_again(answer.running, answer.turn)


@pytest.mark.parametrize("outcome", [SendOutcome.PERMANENT, SendOutcome.GONE])
async def test_reply_that_was_shown_is_not_sent_anew(tmp_path: Path, outcome: SendOutcome) -> None:
    """A person has deleted it before the edit was repeated, or has blocked the bot."""
    async with killed(tmp_path) as (running, turn):
        await running.reply(turn, "done")
        assert await running.states() == ["delivered", "ph_sent"]
        running.channel.outcomes.append(outcome)
        running.pass_retry_delay()
        assert await running.states() == ["delivered"] * 2
        assert running.channel.calls == ["edit"] * 2


async def test_next_answer_grows_while_an_edit_is_to_be_repeated(tmp_path: Path) -> None:
    """A person who has asked again sees that answer being written."""
    async with killed(tmp_path) as (running, turn):
        await running.reply(turn, "done")
        assert await running.states() == ["delivered", "ph_sent"]
        await running.store.transact(open_turn, "t2")
        with running.delivery.open_preview("t2", HERE) as preview:
            preview.show_text(WORDS)
            while running.shown[-1] != f"{WORDS} …":
                await anyio.lowlevel.checkpoint()
            assert await running.states() == ["delivered", "ph_sent", "ph_sent"]


async def test_a_repeated_message_has_its_first_key_and_time(tmp_path: Path) -> None:
    """By which a platform knows it again, or its adapter looks where it may stand."""
    async with delivering(tmp_path, SendOutcome.NOT_SENT) as running:
        running.now = 5
        await running.add("a note")
        while await running.states() != ["delivered"]:
            running.pass_retry_delay()
        assert [(part.key, part.queued_at) for part in running.channel.sent] == [("1-5", 5)]


NOT_SENT, UNKNOWN, GONE = SendOutcome.NOT_SENT, SendOutcome.UNKNOWN, SendOutcome.GONE


@asynccontextmanager
async def replying(
    folder: Path, *outcomes: SendOutcome | float | None, arrives: bool = False, others: int = 0
) -> AsyncIterator[Outbox]:
    """The reply of a turn is queued; these are the outcomes of the first calls.

    So many messages were sent to others since the turn began.
    """
    with opened(folder) as db:
        turn = open_turn(db, "t0")  # its message has the number 0, the chat's next one 1
    async with delivering(folder, *outcomes) as running:
        running.channel.arrives = arrives
        running.channel.sent += [OutboundPart("8", "for another")] * others
        await running.reply(turn, "done")
        yield running


@pytest.mark.parametrize(
    ("outcomes", "calls", "texts"),
    [
        ((), ["send"], ["done"]),
        ((NOT_SENT,), ["send", "send", "edit"], ["done"]),
        ((NOT_SENT, None, UNKNOWN), ["send", "send", "edit", "edit"], ["done"]),
        ((NOT_SENT, None, GONE), ["send", "send", "edit", "send", "edit"], ["…", "done"]),
    ],
)
async def test_reply_is_one_call_and_takes_the_place_of_a_placeholder_if_that_fails(
    tmp_path: Path, outcomes: tuple[SendOutcome | None, ...], calls: list[str], texts: list[str]
) -> None:
    """An edit is repeated; where the placeholder was deleted, there is a new one."""
    async with replying(tmp_path, *outcomes) as running:
        while await running.states() != ["delivered"]:
            running.pass_retry_delay()
        assert running.channel.calls == calls
        assert running.shown == texts


@pytest.mark.parametrize(
    ("arrives", "outcomes", "calls", "texts"),
    [
        (True, (UNKNOWN,), ["send", "edit"], ["done"]),
        (False, (UNKNOWN,), ["send", "edit", "send", "edit"], ["done"]),
        (True, (UNKNOWN, UNKNOWN), ["send", "edit", "edit"], ["done"]),
        (True, (UNKNOWN, 0.01), ["send", "edit", "edit"], ["done"]),
        (False, (UNKNOWN, None, NOT_SENT), ["send", *["edit", "send"] * 2, "edit"], ["done"]),
        (
            *(False, (UNKNOWN, None, None, UNKNOWN)),
            *(["send", "edit", "send", "edit", "edit"], ["done"]),
        ),
    ],
)
async def test_reply_of_which_nothing_says_that_it_arrived_stands_in_its_chat_once(
    tmp_path: Path,
    *,
    arrives: bool,
    outcomes: tuple[SendOutcome | float | None, ...],
    calls: list[str],
    texts: list[str],
) -> None:
    """It is looked for between the messages around it, and sent if it is not there."""
    async with replying(tmp_path, *outcomes, arrives=arrives) as running:
        while await running.states() != ["delivered"]:
            running.pass_retry_delay()
        assert running.channel.calls == calls
        assert running.shown == texts


@pytest.mark.parametrize("arrived", [True, False])
async def test_reply_that_a_kill_left_between_sending_and_receipt_stands_in_its_chat_once(
    tmp_path: Path, *, arrived: bool
) -> None:
    """Only after a late message has had the time to land; other chats write meanwhile."""
    with opened(tmp_path) as db:
        turn = open_turn(db, "t0")
        with job(db):
            turns.end_with_reply(db, turn, [OutboxPart("done")], "edit", ("done", None), 0)
            outbox.mark_sending(db, 1, "sending", 0)
            turns.boot(db, 0)
    async with delivering(tmp_path) as running:
        await running.channel.send(OutboundPart("8", "for another"))
        if arrived:
            await running.channel.send(OutboundPart("7", "done"))
        running.channel.calls.clear()
        assert await running.states() == ["sending"]
        assert running.channel.calls == []
        running.now = outbox.LATE_EDIT
        running.delivery.wake()
        assert await running.states() == ["delivered"]
        assert [part.text for part in running.channel.edited] == ["done"]
        assert running.shown == ["for another", "done"]


@pytest.mark.parametrize("arrives", [True, False])
@pytest.mark.parametrize(
    "failures",
    [(), (UNKNOWN,), (None, UNKNOWN), (None, NOT_SENT), (None, None, UNKNOWN), (*[None] * 3, GONE)],
)
async def test_reply_that_may_stand_anywhere_is_sent_again_behind_a_mark(
    tmp_path: Path, *, arrives: bool, failures: tuple[SendOutcome | None, ...]
) -> None:
    """Many chats have been written to meanwhile, and each place would have to be tried."""
    outcomes = UNKNOWN, None, *failures  # of the reply, of looking at the first place, and then
    async with replying(tmp_path, *outcomes, arrives=arrives, others=1) as running:
        await running.queued(1)
        running.channel.sent += [OutboundPart("8", "for another")] * MAX_PLACES
        while await running.states() != ["delivered"]:
            running.pass_retry_delay()
        *earlier, mark, reply = [text for text in running.shown if text != "…"]
        assert (mark, reply) == (REPEATED, "done")
        assert earlier.count("done") == int(arrives)


async def test_reply_is_found_among_many_messages_that_are_known(tmp_path: Path) -> None:
    """To other chats, while it was not known what had become of it."""
    async with replying(tmp_path, UNKNOWN, arrives=True, others=1) as running:
        await running.queued(1)
        for _ in range(MAX_PLACES + 1):
            await running.add("for another", "8")
        while set(await running.states()) != {"delivered"}:
            running.pass_retry_delay()
        assert [text for text in running.shown if text != "for another"] == ["done"]
        assert running.channel.calls.count("edit") <= 3


async def test_reply_after_a_notice_that_no_row_knows_begins_as_a_placeholder(
    tmp_path: Path,
) -> None:
    """Were its one call lost, the notice could be taken for it. The next reply is one call."""
    with opened(tmp_path) as db:
        turn = open_turn(db, "t0")
    async with delivering(tmp_path) as running:
        assert await running.delivery.send_unstored(
            "telegram", OutboundPart("7", "My storage is full")
        )
        await running.reply(turn, "done")
        assert await running.states() == ["delivered"]
        await running.reply(await running.store.transact(open_turn, "t1"), "done")
        assert await running.states() == ["delivered", "delivered"]
        assert running.channel.calls == ["send", "send", "edit", "send"]
        assert running.shown == ["My storage is full", "done", "done"]


async def test_message_of_another_node_is_left_to_it_and_waited_for(tmp_path: Path) -> None:
    """Messages of one chat stand in their order, whichever nodes send them."""
    placement = PlacedAgents("work")
    async with delivering(tmp_path, placement=placement) as running:
        await running.store.transact(begin, 1)
        turn = await running.store.read(loaded, 1)
        await running.add("from the other node")
        await running.reply(turn, "done")
        await running.add("elsewhere", chat_id="8")
        assert await running.states() == ["queued"] * 3
        placement.change(own={"work", HERE.chat_key})
        running.delivery.wake()
        assert await running.states() == ["delivered", "delivered", "queued"]
        assert running.shown == ["from the other node", "done"]
