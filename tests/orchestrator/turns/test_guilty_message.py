"""A message that has ended the daemon three times, on a journal that several nodes share."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from fakes.journal import job
from fakes.placed_agents import PlacedAgents
from fakes.turn_bench import TurnBench, turn_bench

from orchestrator.journal.turns import inbox, turns
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.turns import Turn
from orchestrator.turns.opener import TurnOpener
from orchestrator.turns.turn_runner import OpenTurn

CHAT = "telegram/1/7/"


@asynccontextmanager
async def restarted(folder: Path) -> AsyncIterator[TurnBench]:
    """A node whose process died three times with the chat's message, and that has no agent yet."""
    (folder / "journal.db-job").write_bytes(f"3 _gather {CHAT}".encode().ljust(512, b"\0"))
    async with turn_bench(folder) as bench:
        bench.opener.placement = PlacedAgents()
        await anyio.wait_all_tasks_blocked()
        await bench.store.transact(lambda _: None)  # behind what the dispatcher has begun
        yield bench


def open_turn(bench: TurnBench) -> Turn:
    """Open the chat's next turn as a node that has every agent."""
    opener = TurnOpener(bench.opener.inputs, bench.opener.epoch)
    opened = opener.build_opening().open_next(bench.db, CHAT)
    assert isinstance(opened, OpenTurn)
    return opened.turn


def take_agent(bench: TurnBench) -> None:
    """Let the node have the agent."""
    bench.opener.placement = PlacedAgents("work")
    bench.dispatcher.wake()


@pytest.mark.parametrize("opened", [False, True], ids=("new", "open"))
async def test_the_message_waits_until_the_node_has_its_agent(
    tmp_path: Path, *, opened: bool
) -> None:
    """Then it is given up, whether it has a turn or not, and the next one is answered."""
    async with turn_bench(tmp_path) as bench:
        bench.opener.admitting = False
        bench.hears("poison", "fine")
        if opened:
            with job(bench.db):
                open_turn(bench)
    async with restarted(tmp_path) as bench:
        assert bench.inbox() == ["claimed" if opened else "new", "new"]
        take_agent(bench)
        told, answer = await bench.channel.until(2)
        assert told.startswith("I am sorry: the agent died 3 times")
        assert answer == "echo: fine"
        assert bench.inbox() == ["dead", "done"]


async def test_what_follows_a_message_that_another_node_answered_is_innocent(
    tmp_path: Path,
) -> None:
    """It is answered."""
    async with turn_bench(tmp_path) as bench:
        bench.opener.admitting = False
        bench.hears("poison", "fine")
    async with restarted(tmp_path) as bench:
        with job(bench.db):
            turn, end = open_turn(bench), ("done", None)
            turns.end_with_reply(bench.db, turn, [OutboxPart("x")], "direct", end, 1)
        take_agent(bench)
        await anyio.wait_all_tasks_blocked()
        assert (await bench.channel.until(2))[-1] == "echo: fine"
        assert bench.inbox() == ["done", "done"]


async def test_messages_are_stored_before_the_message_is_given_up(tmp_path: Path) -> None:
    """T2 in the same transaction could end the daemon again."""
    async with turn_bench(tmp_path) as bench:
        bench.opener.admitting = False
        bench.hears("poison")
    async with restarted(tmp_path) as bench:
        bench.opener.placement = PlacedAgents("work")
        with bench.dispatcher.hold_chats([CHAT]) as open_all, job(bench.db):
            open_all(bench.db)
        assert [row.text for row in inbox.INBOX.select(bench.db, "state = 'new'")] == ["poison"]
