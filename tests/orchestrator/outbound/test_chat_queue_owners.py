"""Whose a message is that a queue sends, where several nodes share a journal."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from fakes.delivering import HERE, WORDS, Outbox, answering, delivering
from fakes.journal import open_turn
from fakes.placed_agents import PlacedAgents
from structlog.contextvars import get_contextvars
from structlog.testing import capture_logs

from orchestrator.channel_api import SendOutcome
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import handoffs, outbox, turns
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.turns import Turn
from orchestrator.outbound.delivery import Reply
from orchestrator.outbound.platform import build_part
from thinker.protocol.logs import bound


def share(running: Outbox, held: PlacedAgents, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other nodes share the journal; the session of this one has what is ``held``."""
    monkeypatch.setattr(running.store, "is_shared", True)
    monkeypatch.setattr(running.store.storage, "owns", held.owns)


async def until_fenced(running: Outbox) -> None:
    """Wait until a queue is told that it must not send."""
    with capture_logs() as lines:
        running.pass_retry_delay()
        while "journal_failed" not in [line["event"] for line in lines]:
            await anyio.lowlevel.checkpoint()


async def test_queue_sends_on_after_the_agent_has_moved_that_began_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message of the daemon in the same chat is not that agent's, nor what the log says of it."""
    held, facts = PlacedAgents("work", HERE.chat_key), list[dict[str, object]]()

    async def note_facts(_: str) -> None:
        facts.append(get_contextvars())

    async with delivering(tmp_path) as running:
        share(running, held, monkeypatch)
        monkeypatch.setattr(running.channel, "wait_for_rate", note_facts)
        turn = await running.store.transact(open_turn)
        way = running.channel.held[HERE.chat_id] = anyio.Event()
        await running.store.transact(end, turn)
        with bound(turn_id=turn.id, agent_id="work", chat_id=HERE.chat_key):
            running.delivery.send_reply(Reply(HERE, "edit"))
        while not running.channel.waits:
            await anyio.lowlevel.checkpoint()
        held.change(own={HERE.chat_key})
        await running.add("a notice")
        way.set()
        assert await running.states() == ["delivered"] * 2
        assert running.shown == ["done", "a notice"]
        assert facts == [{}, {}]


def end(db: Database, turn: Turn) -> None:
    """T6."""
    turns.end_with_reply(db, turn, [OutboxPart("done")], "edit", ("done", None), 0)


async def test_lost_reply_of_an_agent_that_has_moved_is_left_to_its_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That one looks for it; two would find each other's placeholders."""
    held = PlacedAgents("work")
    async with delivering(tmp_path, SendOutcome.UNKNOWN) as running:
        share(running, held, monkeypatch)
        await running.reply(await running.store.transact(open_turn), "done")
        assert await running.states() == ["sending"]
        held.change(own=set())
        await until_fenced(running)
        assert running.channel.calls == ["send"]


async def test_growing_answer_of_an_agent_that_has_moved_is_shown_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its node may have sent the last words already."""
    held = PlacedAgents("work", HERE.chat_key)
    async with answering(tmp_path, owner="work") as answer:
        share(answer.running, held, monkeypatch)
        while len(answer.running.shown) < 2:
            await anyio.lowlevel.checkpoint()
        held.change(own={HERE.chat_key})
        answer.preview.show_text(f"{WORDS} And there are more.")
        await until_fenced(answer.running)
        assert answer.running.channel.calls == ["send", "send"]


async def test_preview_that_another_node_sends_as_the_turn_is_handed_over_stands_once(
    tmp_path: Path,
) -> None:
    """The node of the agent that has the turn by now goes on with it once its number is known."""
    async with delivering(tmp_path, placement=PlacedAgents("home")) as running:
        store, part = running.store, OutboxPart(WORDS)
        turn = await store.transact(open_turn)
        await store.transact(outbox.start_preview, turn.id, HERE, part, 0)
        row = await store.read(outbox.find_next_row, HERE.chat_key)
        assert row is not None
        assert await store.transact(outbox.mark_sending, row.id, "ph_sending", 0, 0, row.owner)
        await store.transact(handoffs.hand_over_turn, turn.id, "home", 0)
        number = await running.channel.send(build_part(row))
        running.delivery.wake()
        assert await running.states() == ["ph_sending"]
        await store.transact(outbox.mark_placeholder_sent, row.id, number)
        await store.transact(end, replace(turn, agent_id="home"))
        running.delivery.send_reply(Reply(HERE, "edit"))
        assert await running.states() == ["delivered"]
        assert running.channel.calls == ["send", "edit"]
        assert running.shown == ["done"]


async def test_preview_of_a_turn_that_was_handed_over_meanwhile_is_not_sent(
    tmp_path: Path,
) -> None:
    """It waited for the platform's rate; the other agent's node sends it."""
    placement = PlacedAgents("work")
    async with delivering(tmp_path, placement=placement) as running:
        rate = running.channel.reached[HERE.chat_id] = anyio.Event()
        turn = await running.store.transact(open_turn)
        await running.store.transact(outbox.start_preview, turn.id, HERE, OutboxPart(WORDS), 0)
        running.delivery.wake()
        while not running.channel.waits:
            await anyio.lowlevel.checkpoint()
        await running.store.transact(handoffs.hand_over_turn, turn.id, "home", 0)
        rate.set()
        assert await running.states() == ["queued"]
        placement.change(own={"home"})
        running.delivery.wake()
        assert await running.states() == ["ph_sent"]
        assert running.channel.calls == ["send"]


@pytest.mark.parametrize(
    ("taken", "calls"), [({"home"}, ["send"]), ({"home", "work"}, ["send", "edit"])]
)
async def test_reply_of_an_agent_that_comes_is_sent_by_two_calls(
    tmp_path: Path, taken: set[str], calls: list[str]
) -> None:
    """Once: another node may have sent what the journal does not know. Those of others need one."""
    async with delivering(tmp_path, placement=PlacedAgents("work")) as running:
        running.delivery.doubt_chats({"work"})
        for number in range(2):
            turn = await running.store.transact(open_turn, f"t{number}")
            await running.reply(turn, "done")
            await running.queued(number + 1)
        assert running.channel.calls == ["send", "edit", "send"]
        running.delivery.doubt_chats(taken)
        await running.reply(await running.store.transact(open_turn, "t2"), "done")
        await running.queued(3)
        assert running.channel.calls[3:] == calls
        assert running.shown == ["done"] * 3
