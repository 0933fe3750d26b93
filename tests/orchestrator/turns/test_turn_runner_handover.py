"""Turns that one agent hands over to another one."""

from pathlib import Path

import anyio
import pytest
from fakes.journal import job
from fakes.turn_bench import done, echo, turn_bench
from structlog.contextvars import get_contextvars
from structlog.testing import capture_logs

from orchestrator.errors import WorkerLostError
from orchestrator.processes.worker import WorkerHost
from orchestrator.toolcalls.executor import HandoffDone
from orchestrator.turns.outcomes import TurnSuspended
from orchestrator.turns.turn_host import TurnHost
from thinker.protocol.methods import TurnResult, TurnRun


async def test_turn_that_another_nodes_agent_gets_is_left_to_it(tmp_path: Path) -> None:
    """What is written for an agent is written by its node."""

    async def handing(_run: TurnRun, _host: WorkerHost) -> TurnResult:
        with job(bench.db):
            bench.db.execute("UPDATE turn SET agent_id = 'home'")
        bench.opener.placement = bench.placement
        raise WorkerLostError("killed")

    async with turn_bench(tmp_path, {"agentId": "work"}, {"agentId": "home"}) as bench:
        bench.placement.own.discard("home")
        worker, other = bench.scripted(handing), bench.scripted(echo, "home")
        bench.hears("hello")
        while not worker.runs:
            await anyio.lowlevel.checkpoint()
        await bench.dispatcher.wait_idle()
        assert bench.states() == ["running"]
        assert other.runs == []


@pytest.mark.parametrize("killed", [False, True])
async def test_turn_that_is_handed_over_goes_on_as_the_other_agents(
    tmp_path: Path, *, killed: bool
) -> None:
    """What is written for it from then on is that agent's, and ends with its group."""
    facts = list[str]()

    async def handing(_run: TurnRun, host: WorkerHost) -> TurnResult:
        with job(bench.db):
            bench.db.execute("UPDATE turn SET agent_id = 'home'")
        if killed:
            raise WorkerLostError("killed")
        assert isinstance(host, TurnHost)
        host.outcome = TurnSuspended(HandoffDone())
        return done("")

    async def answering(run: TurnRun, host: WorkerHost) -> TurnResult:
        facts.append(str(get_contextvars()["agent_id"]))
        assert bench.dispatcher.leave_turns({"work"})
        return await echo(run, host)

    async with turn_bench(tmp_path, {"agentId": "work"}, {"agentId": "home"}) as bench:
        bench.scripted(handing)
        bench.scripted(answering, "home")
        bench.hears("hello")
        assert await bench.channel.until(1) == ["echo: hello"]
        assert facts == ["home"]


@pytest.mark.parametrize(("given", "level"), [(True, "debug"), (False, "warning")])
async def test_only_a_turn_that_is_lost_here_is_warned_of(
    tmp_path: Path, *, given: bool, level: str
) -> None:
    """Not one whose agent was given to another node, which goes on with it."""

    async def late(_run: TurnRun, _host: WorkerHost) -> TurnResult:
        with job(bench.db):
            bench.db.execute("UPDATE turn SET epoch = epoch + 1")
        if given:
            bench.placement.own.discard("work")
        return done("late")

    async with turn_bench(tmp_path) as bench:
        worker = bench.scripted(late)
        with capture_logs() as logs:
            bench.hears("hello")
            while not worker.runs:
                await anyio.lowlevel.checkpoint()
            await bench.dispatcher.wait_idle()
        assert [one["log_level"] for one in logs if one["event"] == "turn_fenced"] == [level]
