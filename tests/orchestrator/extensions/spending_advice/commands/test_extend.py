"""More money for an agent, by the command of old."""

from pathlib import Path

from fakes.control_server import ask, serving

from orchestrator.errors import ExitCode
from orchestrator.extensions.spending_advice.cost_answers import BUDGET_EXTEND, ExtendedBudget


async def test_budget_is_extended_and_a_pause_that_stays_is_told(tmp_path: Path) -> None:
    """The reason goes to stderr; what is not an amount does not reach the daemon."""
    done = ExtendedBudget(text="work may spend $0.1 more until midnight", paused="no tokens")
    async with serving(tmp_path, {BUDGET_EXTEND: done}) as server:
        told = await ask(tmp_path, "agents", "extend", "work", "0.10")
        wrong = await ask(tmp_path, "agents", "extend", "work", "-1")
        assert server.params(BUDGET_EXTEND) == [{"agentId": "work", "usd": 0.1}]
    assert told.stdout == "work may spend $0.1 more until midnight\n"
    assert "it stays paused: no tokens" in told.stderr
    assert wrong.exit_code != ExitCode.OK
