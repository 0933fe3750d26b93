"""Steps of a move in a daemon, which has its journal for itself or shares it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakes.journal import store_in
from fakes.placed_agents import PlacedAgents
from pydantic import JsonValue

from orchestrator.extensions.relocation.journal_steps import STEPS, StepReport
from orchestrator.extensions.relocation.relocation_part import LOOK, STEP, RelocationPart
from orchestrator.journal.turns import turns
from orchestrator.placement import Placement, SingleNode
from orchestrator.settings import Settings
from orchestrator.wakeup import Wakeup
from thinker.protocol.peer import RpcError


async def run_step(folder: Path, placement: Placement, step: str) -> StepReport:
    """Run a step of a move of `work` in a daemon on a new journal."""
    store = store_in(folder)
    try:
        await store.transact(turns.boot, 0)
        daemon: Any = SimpleNamespace(
            store=store,
            settings=Settings(home=folder),
            placement=placement,
            machine=SimpleNamespace(clock=lambda: 9),
            operations=SimpleNamespace(guard=Wakeup()),
            control=Wakeup(),
        )
        peer: Any = object()
        handlers = RelocationPart(daemon).list_control_methods(peer)
        request: dict[str, JsonValue] = {
            "step": step,
            "agentId": "work",
            "id": "m",
            "here": "/a",
            "there": "/b",
        }
        return StepReport.model_validate(await handlers[STEP](request))
    finally:
        store.close()


@pytest.mark.parametrize("step", sorted(STEPS.keys() - {LOOK}))
async def test_node_that_shares_its_journal_takes_no_step(tmp_path: Path, step: str) -> None:
    """Other nodes would use the ids of the arriving rows, and a message would be lost."""
    with pytest.raises(RpcError, match="stop the other nodes, and start this one without"):
        await run_step(tmp_path, PlacedAgents("work"), step)


async def test_node_that_shares_its_journal_tells_how_a_move_stands(tmp_path: Path) -> None:
    """Looking at it changes nothing."""
    assert (await run_step(tmp_path, PlacedAgents("work"), LOOK)).move is None


async def test_daemon_alone_on_its_journal_takes_the_steps(tmp_path: Path) -> None:
    """A placement that owns everything shares nothing."""
    report = await run_step(tmp_path, SingleNode(), "leave")
    assert report.move is not None
    assert report.move.phase == "leaving"


async def test_unchecked_rows_do_not_arrive(tmp_path: Path) -> None:
    """Else the command would go on, and mark the agent as gone from its old home."""
    home = tmp_path / "home"
    home.mkdir()
    assert (await run_step(home, SingleNode(), "expect")).move is not None
    with pytest.raises(RpcError, match="of another version than this command; restart it"):
        await run_step(home, SingleNode(), "arrive")
