"""Chat commands that a node receives for the agent of another one, on one journal."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from fakes.agents_file import validate_file
from fakes.commands import NoQueues, command_desk, no_notice
from fakes.journal import job, planned, update
from fakes.placed_agents import PlacedAgents
from fakes.turn_bench import START, TurnBench, echo, turn_bench
from structlog.testing import capture_logs

from orchestrator.inbound.arrivals import PASSED_ON
from orchestrator.inbound.command_queue import UNKNOWN, CommandQueue
from orchestrator.inbound.intake import JournalIntake
from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns import (
    approvals,
    deferred_commands,
    inbox,
    outbox,
    pauses,
    questions,
    turns,
)
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.processes.worker import WorkerHost
from thinker.protocol.methods import TurnResult, TurnRun

OPERATOR, STRANGER = "7", "8"
AGENTS = validate_file(
    {
        "agents": [
            {"agentId": "work", "llmProvider": "demo"},
            {"agentId": "home", "llmProvider": "demo"},
        ],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
        "channels": {"telegram": {"access": "open", "allowlist": [OPERATOR]}},
    }
)


class TwoNodes:
    """The node of the bench, which has the agents, and the intake of one that has none.

    ``open`` lets the turns of the agent's worker end.
    """

    def __init__(self, bench: TurnBench) -> None:
        self.bench, self.open = bench, anyio.Event()
        self.placement = PlacedAgents("work", "home")
        bench.opener.placement = self.placement
        bench.files[0] = AGENTS
        own, there = (
            command_desk(bench.store, lambda: bench.files[0], after, lambda: bench.now[0])
            for after in (bench.dispatcher.stop_turns, self._require_nothing_stopped)
        )
        queue = CommandQueue(bench.store, own, bench.dispatcher.wake)
        bench.dispatcher.answer_commands = queue.answer_commands
        self.intake = JournalIntake(
            bench.store,
            lambda: bench.files[0],
            no_notice,
            NoQueues(),
            lambda: None,
            there,
            lambda: bench.now[0],
            placement=PlacedAgents(),
        )

    def _require_nothing_stopped(self, stopped: object) -> None:
        assert not stopped

    async def wait_for_gate(self, run: TurnRun, host: WorkerHost) -> TurnResult:
        """Answer once the test opens the gate."""
        await self.open.wait()
        return await echo(run, host)

    async def hears(self, *texts: str, chat: str = OPERATOR) -> None:
        """Let the other node receive messages; this one learns of them from the server."""
        messages = []
        for text in texts:
            self.bench.numbers += 1
            messages.append(update(self.bench.numbers, text, chat))
        await self.intake.accept(messages, 100)
        self.bench.dispatcher.wake()

    async def read_answers(self, count: int, chat: str = OPERATOR) -> list[str]:
        """Wait until so many messages have been answered by the daemon; return the answers."""
        key = f"telegram/1/{chat}/"
        while True:
            rows = inbox.INBOX.select(self.bench.db, "kind = 'command' ORDER BY id")
            if len([row for row in rows if row.state == "done"]) >= count:
                break
            await anyio.lowlevel.checkpoint()
        ids = [row.message_id for row in rows if row.chat_id == chat]
        return [text for one in ids for text in outbox.list_notices_to(self.bench.db, key, one)]


@asynccontextmanager
async def two_nodes(folder: Path) -> AsyncIterator[TwoNodes]:
    """Run the bench's node, and receive by another one."""
    async with turn_bench(folder, {"agentId": "work"}, {"agentId": "home"}) as bench:
        yield TwoNodes(bench)
        assert invariants.check_invariants(bench.db) == []


async def test_the_node_of_the_agent_answers_and_the_row_is_that_of_any_command(
    tmp_path: Path,
) -> None:
    """The one that receives it changes nothing but the inbox."""
    async with two_nodes(tmp_path) as nodes:
        nodes.placement.change(own=set())
        await nodes.hears("/pause")
        (row,) = inbox.INBOX.select(nodes.bench.db, "true")
        assert (row.state, row.kind) == ("new", "command")
        assert pauses.list_pauses(nodes.bench.db) == []
        nodes.placement.change(own={"work"})
        nodes.bench.dispatcher.wake()
        assert "'work' is paused" in (await nodes.read_answers(1))[0]
        (row,) = inbox.INBOX.select(nodes.bench.db, "true")
        assert (row.kind, row.chat_key, row.quote) == ("command", "telegram/1/7/", None)
        assert [pause.agent_id for pause in pauses.list_pauses(nodes.bench.db)] == ["work"]


async def test_stop_ends_the_turn_that_runs_at_the_other_node(tmp_path: Path) -> None:
    """It does not wait for its chat's turn, as it never does."""
    async with two_nodes(tmp_path) as nodes:
        nodes.bench.scripted(nodes.wait_for_gate)
        await nodes.hears("work for ever")
        await nodes.bench.until_state("running")
        await nodes.hears("/stop")
        assert (await nodes.read_answers(1))[0].startswith("Stopped.")
        await nodes.bench.until_state("cancelled")


async def test_a_turn_is_stopped_while_its_node_waits_for_its_end(tmp_path: Path) -> None:
    """Before it stops itself: nothing new begins there, but what runs can take long."""
    async with two_nodes(tmp_path) as nodes:
        nodes.bench.scripted(nodes.wait_for_gate)
        await nodes.hears("hello")
        await nodes.bench.until_state("running")
        nodes.bench.opener.admitting = False
        await nodes.hears("/stop", "again")
        assert (await nodes.read_answers(1))[0].startswith("Stopped.")
        await nodes.bench.until_state("cancelled")
        assert nodes.bench.inbox()[-1] == "new"


async def test_a_command_counts_before_the_messages_that_follow_it(tmp_path: Path) -> None:
    """Even if the turn before it ends at the moment at which both arrive."""
    async with two_nodes(tmp_path) as nodes:
        nodes.bench.scripted(nodes.wait_for_gate)
        nodes.bench.opener.inputs.store.is_shared = True
        await nodes.hears("one")
        await nodes.bench.until_state("running")
        answer = nodes.bench.dispatcher.answer_commands
        asked = anyio.Event()

        async def answer_late(queue: str) -> None:
            if asked.is_set():  # the second to be called is the queue of the chat
                await answer(queue)
            asked.set()

        nodes.bench.dispatcher.answer_commands = answer_late
        await nodes.hears("/pause", "two")
        await asked.wait()
        nodes.open.set()
        assert "is paused" in (await nodes.read_answers(1))[0]
        assert nodes.bench.inbox() == ["done", "done", "new"]


async def test_a_repeated_update_is_answered_once(tmp_path: Path) -> None:
    """Two pollers may receive it, before and after it is answered."""
    async with two_nodes(tmp_path) as nodes:
        message = replace(update(1, "/help"), update_id=None)  # as of channels without numbers
        await nodes.intake.accept([message])
        await nodes.intake.accept([message])
        nodes.bench.dispatcher.wake()
        await nodes.read_answers(1)
        await nodes.intake.accept([message])
        assert nodes.bench.inbox() == ["done"]
        assert len(await nodes.read_answers(1)) == 1


async def test_a_command_of_another_version_is_answered_and_not_logged(tmp_path: Path) -> None:
    """It counts as no fault of the chat's next message, and the log has no words of people."""
    async with two_nodes(tmp_path) as nodes:
        queue = deferred_commands.build_queue("work", "telegram/1/7/")
        message = update(1, "secret words")
        facts = deferred_commands.format_facts(message, "operate")
        with job(nodes.bench.db):
            inbox.ingest(nodes.bench.db, [Arrival(message, deferred=(queue, facts))], None, START)
        with capture_logs() as logs:
            nodes.bench.dispatcher.wake()
            assert await nodes.read_answers(1) == [UNKNOWN]
        assert [entry["event"] for entry in logs if "secret" in str(entry)] == []


async def test_a_command_runs_with_the_role_that_its_sender_had(tmp_path: Path) -> None:
    """The node of the agent takes it from the journal."""
    async with two_nodes(tmp_path) as nodes:
        await nodes.hears("/pause", chat=STRANGER)
        assert "Only my operator" in (await nodes.read_answers(1, STRANGER))[0]
        assert pauses.list_pauses(nodes.bench.db) == []


async def test_a_named_agent_is_paused_by_its_own_node(tmp_path: Path) -> None:
    """Wherever the agent of the chat is."""
    async with two_nodes(tmp_path) as nodes:
        nodes.placement.change(own={"home"})
        await nodes.hears("/pause home")
        assert "'home' is paused" in (await nodes.read_answers(1))[0]
        await nodes.hears("/pause work")
        await anyio.wait_all_tasks_blocked()
        assert nodes.bench.inbox() == ["done", "new"]


@pytest.mark.parametrize("way", ["button", "command"])
async def test_a_question_is_answered_by_the_node_of_its_call(tmp_path: Path, way: str) -> None:
    """The chat gets the answer; the toast of a button says that it will come."""
    async with two_nodes(tmp_path) as nodes:
        bench = nodes.bench
        bench.scripted(nodes.wait_for_gate)
        await nodes.hears("write it down")
        await bench.until_state("running")
        turn = turns.find_open_turn(bench.db, "telegram/1/7/")
        assert turn is not None
        (call,) = planned(bench.db, turn.id, "pay", arguments={"sum": 3})
        with job(bench.db):
            asked, _ = approvals.request_approval(bench.db, call, "policy", "c0de", START)
        data = questions.hash_question([asked], "telegram/1/7/")
        text = f"y:c0de:{data} 5" if way == "button" else "/approve c0de"
        kind = "press" if way == "button" else "message"
        told = await nodes.intake.accept([replace(update(9, text), kind=kind)], 100)
        assert told == ({"9": PASSED_ON} if way == "button" else {})
        bench.dispatcher.wake()
        await nodes.read_answers(1)
        found = approvals.find_approval(bench.db, "c0de")
        assert found is not None
        assert (found.state, found.by_user) == ("granted", "telegram:7")
