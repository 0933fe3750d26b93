"""T2: which turn a chat goes on with."""

from pathlib import Path

import pytest
from fakes.journal import job
from fakes.placed_agents import PlacedAgents
from fakes.turn_bench import TurnBench, turn_bench

from orchestrator.agentsfile import AgentsFile, Binding
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, turns
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.pauses import Pause
from orchestrator.turns.dispatcher import _count_own_fault
from orchestrator.turns.opener import IncompleteAlbum, Obstacle, TurnOpener, TurnOpening
from orchestrator.turns.turn_runner import OpenTurn

CHAT = "telegram/1/7/"
Found = OpenTurn | Pause | Obstacle | None


def store(bench: TurnBench, *texts: str, **fields: str) -> None:
    """Store messages for which the dispatcher opens no turn."""
    bench.opener.admitting = False
    bench.hears(*texts, **fields)
    bench.opener.admitting = True


def opens(bench: TurnBench, opener: TurnOpener | None = None) -> Found:
    """T2 for the chat."""
    with job(bench.db):
        return (opener or bench.opener).build_opening().open_next(bench.db, CHAT)


def has_work(bench: TurnBench, opener: TurnOpener) -> bool:
    """Whether a node has something to do in the chat."""
    return opener.build_opening().has_own_work(bench.db, CHAT)


async def test_the_next_message_opens_a_turn_with_its_inputs(tmp_path: Path) -> None:
    """Its first attempt needs no second look at the journal."""
    async with turn_bench(tmp_path) as bench:
        store(bench, "hello")
        opened = opens(bench)
        assert isinstance(opened, OpenTurn)
        assert opened.turn.recipe == "interactive"
        assert opened.preloaded is not None
        assert [message.content for message in opened.preloaded.stored.said] == ["hello"]


async def test_an_open_turn_is_returned_before_any_message(tmp_path: Path) -> None:
    """One that an earlier process left behind, for example."""
    async with turn_bench(tmp_path) as bench:
        store(bench, "one", "two")
        first, again = opens(bench), opens(bench)
        assert isinstance(first, OpenTurn)
        assert isinstance(again, OpenTurn)
        assert again.turn.id == first.turn.id
        assert again.preloaded is None


async def test_a_turn_of_another_process_is_left_to_it(tmp_path: Path) -> None:
    """An older process may still run when a newer one has adopted its turns."""
    async with turn_bench(tmp_path) as bench:
        store(bench, "one")
        assert isinstance(opens(bench), OpenTurn)
        assert opens(bench, TurnOpener(bench.opener.inputs, bench.opener.epoch + 1)) is None


async def test_a_chat_without_messages_has_no_turn(tmp_path: Path) -> None:
    """Nothing is written."""
    async with turn_bench(tmp_path) as bench:
        assert opens(bench) is None


async def test_a_paused_agent_has_its_pause_instead(tmp_path: Path) -> None:
    """The message stays new."""
    async with turn_bench(tmp_path) as bench:
        await bench.guard.change_pause("work", "operator", paused=True)
        store(bench, "hello")
        assert isinstance(opens(bench), Pause)
        assert bench.inbox() == ["new"]


async def test_an_album_waits_until_it_is_complete(tmp_path: Path) -> None:
    """Then its parts open one turn; after a start, parts that came meanwhile are waited for."""
    async with turn_bench(tmp_path) as bench:
        store(bench, "one", album="g")
        assert opens(bench) == IncompleteAlbum(1.0)
        bench.now[0] += 900
        store(bench, "two", album="g")
        restarted = TurnOpener(bench.opener.inputs, 1)
        bench.now[0] += 400
        assert opens(bench) == opens(bench, restarted) == IncompleteAlbum(0.6)
        bench.now[0] += 600
        assert isinstance(opens(bench), OpenTurn)
        assert bench.inbox() == ["claimed", "done"]


async def test_a_message_for_an_unknown_agent_is_refused(tmp_path: Path) -> None:
    """It names the agent itself, as the console can."""
    async with turn_bench(tmp_path) as bench:
        store(bench, "hello", target="nobody-there")
        assert isinstance(opens(bench), InboxRow)
        assert bench.inbox() != ["new"]


async def test_an_agent_with_embeddings_is_loaded_with_its_worker(tmp_path: Path) -> None:
    """T2 must not wait for a model."""
    embeddings = {"provider": "ollama", "model": "e"}
    async with turn_bench(tmp_path, {"agentId": "work", "embeddings": embeddings}) as bench:
        store(bench, "hello")
        opened = opens(bench)
        assert isinstance(opened, OpenTurn)
        assert opened.preloaded is None


async def test_a_failure_in_one_chat_leaves_the_others_their_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what T1 stored of it."""
    async with turn_bench(tmp_path) as bench:
        store(bench, "one")
        store(bench, "two", chat_id="8")
        broken = TurnOpening.open_next
        opened: dict[str, OpenTurn | None] = {"of a try that was rolled back": None}

        def failing(opening: TurnOpening, db: Database, chat: str) -> Found:
            found = broken(opening, db, chat)
            if chat == CHAT:
                raise KeyError("a bug")
            return found

        monkeypatch.setattr(TurnOpening, "open_next", failing)  # the fault
        with job(bench.db):
            bench.opener.build_opening().open_all([CHAT, "telegram/1/8/"], opened, bench.db)
        assert list(opened) == ["telegram/1/8/"]
        assert turns.find_open_turn(bench.db, CHAT) is None
        assert bench.inbox()[0] == "new"


async def test_message_for_an_agent_of_another_node_is_left_to_it(tmp_path: Path) -> None:
    """So is one that no agent answers: its refusal is sent once."""
    async with turn_bench(tmp_path) as bench:
        store(bench, "hello")
        for agent, left in (("work", "home"), ("gone", "work")):
            bindings = (Binding(channel="telegram", chat_id="*", agent_id=agent),)
            bench.files[0] = AgentsFile(agents=bench.files[0].agents, bindings=bindings)
            opener = TurnOpener(bench.opener.inputs, bench.opener.epoch)
            opener.placement = PlacedAgents(left)
            assert not has_work(bench, opener)
            assert opens(bench, opener) is None
            assert bench.inbox() == ["new"]
        opener.placement = PlacedAgents(CHAT)
        assert has_work(bench, opener)
        assert opens(bench, opener) is not None
        assert bench.inbox() == ["cancelled"]


async def test_node_works_on_with_the_turns_of_its_agents_only(tmp_path: Path) -> None:
    """A turn that was handed to another node's agent is run there, with the epoch of that node."""
    async with turn_bench(tmp_path) as bench:
        store(bench, "one", "two")
        first = opens(bench)
        assert isinstance(first, OpenTurn)
        here, there = (TurnOpener(bench.opener.inputs, bench.opener.epoch + n) for n in (0, 1))
        here.placement, there.placement = PlacedAgents(), PlacedAgents(first.turn.agent_id)
        assert not has_work(bench, here)
        assert opens(bench, here) is None
        assert has_work(bench, there)
        adopted = opens(bench, there)
        assert isinstance(adopted, OpenTurn)
        assert (adopted.turn.id, adopted.turn.epoch) == (first.turn.id, there.epoch)


async def test_what_another_node_works_on_is_neither_interrupted_nor_given_up(
    tmp_path: Path,
) -> None:
    """Its agent may have left this node since the chat was looked at."""
    async with turn_bench(tmp_path, {"agentId": "work", "whileBusy": "interrupt"}) as bench:
        store(bench, "one", "two")
        opened = opens(bench)
        assert isinstance(opened, OpenTurn)
        opener = TurnOpener(bench.opener.inputs, bench.opener.epoch)
        for own, ended in ((PlacedAgents(), None), (PlacedAgents("work"), opened.turn.id)):
            opener.placement = own
            with job(bench.db):
                assert opener.build_opening().interrupt_turn(bench.db, CHAT) == ended
        for own, claims in ((PlacedAgents(), 0), (PlacedAgents("work"), 1)):
            opener.placement = own
            with job(bench.db):
                _count_own_fault(bench.db, CHAT, "a bug", opener.build_opening())
            row = inbox.find_oldest_new(bench.db, CHAT)
            assert row is not None
            assert row.claims == claims


async def test_node_that_gives_an_agent_away_ends_its_turns_and_begins_none(tmp_path: Path) -> None:
    """So that a busy agent can leave, too; its messages wait for the next node."""
    async with turn_bench(tmp_path) as bench:
        store(bench, "one")
        opener = TurnOpener(bench.opener.inputs, bench.opener.epoch)
        opener.placement = placement = PlacedAgents("work")
        placement.closing = frozenset({"work"})
        assert opens(bench, opener) is None
        placement.closing = None
        first = opens(bench, opener)
        assert isinstance(first, OpenTurn)
        placement.closing = frozenset({"work"})
        again = opens(bench, opener)
        assert isinstance(again, OpenTurn)
        assert again.turn.id == first.turn.id
