"""What a chat sees, in which order, after each outcome of a platform call."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from fakes.delivering import FIRST, HERE, STATES, WORDS, answering, delivering
from fakes.journal import job, open_turn, opened
from structlog.testing import capture_logs

from orchestrator import failpoints
from orchestrator.channel_api import MAX_HOLD, OutboundPart, ReplyPart, SendOutcome
from orchestrator.failpoints import FailpointInjector
from orchestrator.journal.turns import outbox, turns
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.outbound.flood_control import BOT, FloodControl
from orchestrator.toolcalls.approvals import REPEATS

pytestmark = pytest.mark.usefixtures("reads")


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


async def test_every_attempt_sends_a_cut_part_in_the_same_form(tmp_path: Path) -> None:
    """The row keeps its markup, in the place of a preview as in a message of its own."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
        with job(db):
            outbox.start_preview(db, turn.id, HERE, OutboxPart("one"), 0)
            parts = [
                OutboxPart("one", rendered="<b>one</b>"),
                OutboxPart("two", rendered="<b>two</b>"),
            ]
            turns.end_with_reply(db, turn, parts, "direct", ("done", None), 0)
    async with delivering(tmp_path, SendOutcome.NOT_SENT, None, None, SendOutcome.NOT_SENT) as run:
        while await run.states() != ["delivered"] * 2:
            run.pass_retry_delay()
        calls = [*run.channel.sent, *run.channel.edited]
    assert {(part.text, part.rendered) for part in calls} == {
        ("…", None),
        ("one", "<b>one</b>"),
        ("two", "<b>two</b>"),
    }


class Flood:
    """A flood of chat 7 that the platform tells of while a commit of delivery runs."""

    armed = True

    def __init__(self, flood: FloodControl, commit: str) -> None:
        self._flood = flood
        self._commit = commit
        self._now = anyio.current_time()

    def reach(self, name: str) -> None:
        """Hold the chat, the first time."""
        if name == self._commit:
            self._commit = ""
            self._flood.hold_chat("telegram", "7", 3600, self._now)

    def watch(self, victim: str, pids: Callable[[], list[int]]) -> None:
        """See no processes."""


@pytest.mark.parametrize(
    ("commit", "calls"),
    [("mark_sending:before", []), ("mark_placeholder_sent:before", ["send", "send"])],
)
async def test_flood_that_begins_during_a_commit_is_obeyed(
    tmp_path: Path, commit: str, calls: list[str]
) -> None:
    """A full disk may hold up the commit before each call; the row is queued again."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
    async with delivering(tmp_path, *[SendOutcome.NOT_SENT] * bool(calls)) as running:
        failpoints.set_observer(Flood(running.delivery.flood, commit))
        await running.reply(turn, "done")
        await running.states()
        running.pass_retry_delay()
        states = await running.states()
    failpoints.set_observer(FailpointInjector({}))
    assert running.channel.calls == calls
    assert states == ["ph_sent" if calls else "queued"]


async def test_chats_that_must_wait_are_not_asked_for_when_others_are_written_to(
    tmp_path: Path,
) -> None:
    """In a long outage thousands wait, and every message that arrives wakes the delivery."""
    asked: list[object] = []

    async with delivering(tmp_path, *[SendOutcome.NOT_SENT] * 20) as running:
        for number in range(20):
            await running.add("hello", f"{number}")
        assert await running.states() == ["queued"] * 20
        read = running.store.read

        async def noted(work: Callable[..., Any], *args: object) -> Any:
            asked.append(work)
            return await read(work, *args)

        running.store.read = noted
        running.delivery.wake()
        for _ in range(20):
            await read(outbox.list_waiting_chats, "telegram")
            await anyio.lowlevel.checkpoint()
    # A wait that ends meanwhile wakes it once more; the 20 chats never do.
    assert len(asked) in (1, 2)


async def test_question_for_an_operator_outlasts_an_outage_of_five_minutes(tmp_path: Path) -> None:
    """Each repetition waits longer, so that they do not all meet the same outage."""
    outage = 5 * 60 * 1000
    async with delivering(tmp_path) as running:
        running.channel.outcomes.extend([SendOutcome.UNKNOWN] * REPEATS)
        await running.add("may I?", again=REPEATS)
        while await running.states() != ["delivered"]:
            if running.now > outage:
                running.channel.outcomes.clear()
            (row,) = await running.store.read(lambda db: outbox.list_due_rows(db, "telegram"))
            running.now = row.not_before
            running.delivery.wake()
    assert running.now > outage
    assert running.shown == ["may I?"]


async def test_message_that_breaks_an_adapter_ends_neither_the_daemon_nor_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried three times, and then a failure that stays visible."""
    async with delivering(tmp_path) as running:
        original = running.channel.send

        async def faulty(part: OutboundPart) -> str:
            if part.text == "poison":
                raise RecursionError
            return await original(part)

        monkeypatch.setattr(running.channel, "send", faulty)
        with capture_logs():
            await running.add("poison", again=5)
            await running.add("fine", chat_id="8")
            assert await running.states() == ["queued", "delivered"]
            for _ in range(2):
                running.pass_retry_delay()
                states = await running.states()
        assert states == ["failed_permanent", "delivered"]


async def test_slow_chat_holds_up_no_other(tmp_path: Path) -> None:
    """Each chat has one message on its way; delivery is idle when all have arrived."""
    async with delivering(tmp_path) as running:
        gate = running.channel.held["7"] = anyio.Event()
        for text, chat_id in (("first", "7"), ("second", "7"), ("other", "8")):
            await running.add(text, chat_id)
        while "other" not in running.shown:
            await anyio.lowlevel.checkpoint()
        gate.set()
        assert await running.states() == ["delivered"] * 3
        assert running.shown == ["other", "first", "second"]


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
    async with answering(tmp_path) as answer:
        running = answer.running
        assert await running.states() == ["delivered", "ph_sent"]
        assert running.shown == ["before", FIRST]
        await running.reply(answer.turn, "These are the last words.")
        assert await running.states() == ["delivered"] * 2
        assert running.shown == ["before", "These are the last words."]


async def test_preview_waits_for_what_was_queued_before_it(tmp_path: Path) -> None:
    """However often that fails."""
    failures = (SendOutcome.NOT_SENT,) * 2
    async with answering(tmp_path, *failures) as answer:
        running = answer.running
        running.pass_retry_delay()
        assert await running.states() == ["queued"] * 2
        assert running.shown == []
        running.pass_retry_delay()
        assert await running.states() == ["delivered", "ph_sent"]
        assert running.shown == ["before", FIRST]


@pytest.mark.parametrize("outcome", [SendOutcome.NOT_SENT, SendOutcome.UNKNOWN])
async def test_what_is_queued_after_a_preview_waits_until_it_stands(
    tmp_path: Path, outcome: SendOutcome
) -> None:
    """A preview that failed is sent again in its place, and the reply is put there."""
    async with answering(tmp_path, None, outcome) as answer:
        running = answer.running
        await running.add("after")
        assert await running.states() == ["delivered", "queued", "queued"]
        running.pass_retry_delay()
        assert await running.states() == ["delivered", "ph_sent", "delivered"]
        await running.reply(answer.turn, "done")
        assert await running.states() == ["delivered"] * 3
        assert running.shown == ["before", "done", "after"]


async def test_preview_that_is_refused_for_good_holds_up_nothing(tmp_path: Path) -> None:
    """The reply is then a message of its own."""
    async with answering(tmp_path, None, SendOutcome.PERMANENT) as answer:
        running = answer.running
        await running.add("after")
        assert await running.states() == ["delivered", "abandoned", "delivered"]
        await running.reply(answer.turn, "done")
        assert running.shown[:2] == ["before", "after"]
        assert await running.states() == ["delivered", "abandoned", "delivered", "delivered"]
        assert running.shown == ["before", "after", "done"]


async def test_reply_waits_for_its_preview_that_is_being_sent(tmp_path: Path) -> None:
    """T6 does not: the reply is then put into the message that the preview became."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
    async with delivering(tmp_path) as running:
        gate = running.channel.held["7"] = anyio.Event()
        with running.delivery.open_preview(turn.id, HERE) as preview:
            preview.show_text(WORDS)
            while await running.store.read(lambda db: db.execute(STATES).get) != "ph_sending":
                await anyio.lowlevel.checkpoint()
        await running.reply(turn, "done")
        gate.set()
        assert await running.states() == ["delivered"]
        assert running.channel.calls == ["send", "edit"]
        assert running.shown == ["done"]


async def test_refused_chat_is_held_and_others_are_served(tmp_path: Path) -> None:
    """A second chat that is refused meanwhile means the whole bot."""
    async with delivering(tmp_path, 1e5) as running:
        await running.add("held", "7")
        assert await running.states() == ["queued"]
        running.pass_retry_delay()  # the row's own delay is shorter
        await running.add("served", "8")
        assert await running.states() == ["queued", "delivered"]
        running.channel.outcomes.append(2000.0)
        await running.add("held, too", "9")
        await running.states()
        await running.add("held with them", "8")
        assert await running.states() == ["queued", "delivered", "queued", "queued"]
        assert running.shown == ["served"]
        bot, chat = running.delivery.flood.list_holds(anyio.current_time())
        assert (bot.chat_id, chat.chat_id) == (BOT, "7")
        assert bot.seconds <= 2000 < chat.seconds <= MAX_HOLD


async def test_preview_that_meets_a_limit_is_not_sent_again_before_its_time(tmp_path: Path) -> None:
    """Nor is anything else sent to that chat, its typing indicator included."""
    async with answering(tmp_path, None, 1000.0) as answer:
        running = answer.running
        running.pass_retry_delay()
        await running.add("after")
        while "ph_sending" in (states := await running.states()):  # the refusal is not stored yet
            await anyio.lowlevel.checkpoint()
        assert states == ["delivered", "queued", "queued"]
        assert running.channel.calls == ["send", "send"]
        assert [
            hold.chat_id for hold in running.delivery.flood.list_holds(anyio.current_time())
        ] == ["7"]


async def test_refused_typing_indicator_holds_its_chat(tmp_path: Path) -> None:
    """It meets the same limit as messages, and its failure does not end the turn."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
    async with delivering(tmp_path) as running:
        running.channel.refusals.append(1000.0)
        with running.delivery.open_preview(turn.id, HERE):
            while not running.channel.calls:
                await anyio.lowlevel.checkpoint()
            await running.add("hello")
            assert await running.states() == ["queued"]
        assert running.channel.calls == ["typing"]


async def test_typing_indicator_that_is_refused_after_the_turn_holds_its_chat(
    tmp_path: Path,
) -> None:
    """The end of the turn does not cut its call off, so that the refusal is heard."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
    async with delivering(tmp_path) as running:
        running.channel.refusals.append(1000.0)
        answered = running.channel.held["7"] = anyio.Event()
        with running.delivery.open_preview(turn.id, HERE):
            while not running.channel.calls:
                await anyio.lowlevel.checkpoint()
        answered.set()
        await anyio.wait_all_tasks_blocked()
        await running.add("hello")
        assert await running.states() == ["queued"]


async def test_growing_answer_that_breaks_an_adapter_is_shown_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon goes on."""
    with capture_logs() as logs:
        async with answering(tmp_path) as answer:
            running = answer.running
            assert await running.states() == ["delivered", "ph_sent"]

            def faulty(text: str, mark: str = "") -> tuple[ReplyPart, ...]:
                broken.set()
                raise RecursionError(text + mark)

            broken = anyio.Event()
            with monkeypatch.context() as patch:
                patch.setattr(running.channel, "split", faulty)
                answer.preview.show_text(f"{WORDS} And there are more.")
                await broken.wait()
                await anyio.wait_all_tasks_blocked()
            await running.reply(answer.turn, "These are the last words.")
            assert await running.states() == ["delivered"] * 2
            assert running.shown == ["before", "These are the last words."]
    assert "preview_broke" in [entry["event"] for entry in logs]


async def test_answer_that_grows_is_shown_by_editing_its_preview(tmp_path: Path) -> None:
    """The chat sees more of it while the turn goes on."""
    async with answering(tmp_path) as answer:
        running = answer.running
        answer.preview.show_text(f"{WORDS} And there are more.")
        while running.shown[-1] != f"{WORDS} And there are more. …":
            await anyio.lowlevel.checkpoint()
        await running.reply(answer.turn, "done")
        assert await running.states() == ["delivered"] * 2
        assert running.shown == ["before", "done"]
