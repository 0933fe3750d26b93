"""What a daemon knows of a switch to another model: turns to try it on, and its likely cost."""

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.agentsfile import AgentsFile
from orchestrator.agentsfile.costs import MILLION, Price
from orchestrator.agentsfile.model_costs import find_model_price
from orchestrator.control.trials import TrialReport
from orchestrator.errors import OrchestratorError, UnknownAgentError
from orchestrator.extensions.workbench import turn_sample
from orchestrator.extensions.workbench.switch_costs import MONTH, estimate_costs
from orchestrator.extensions.workbench.switch_report import (
    NO_VERDICTS,
    SwitchReport,
    Verdicts,
    compare_turns,
    list_tried_uses,
)
from orchestrator.extensions.workbench.turn_sample import (
    DAY,
    SampleRequest,
    TurnSample,
    UsedTurn,
    choose_sample,
)
from orchestrator.journal.db.store import Store
from orchestrator.spending.budgets import describe_missing_prices

WEEK = 7 * DAY
A_TOKEN = Price(input=MILLION, output=MILLION)  # by which costs are numbers of tokens


@dataclass(frozen=True)
class SwitchDesk:
    """Answers questions about switches; ``clock`` returns milliseconds since the epoch."""

    store: Store
    get_agents_file: Callable[[], AgentsFile]
    clock: Callable[[], int]

    async def choose_turns(self, request: SampleRequest) -> TurnSample:
        """Return turns of an agent to try a model on.

        Raises:
            UnknownAgentError: agents.json has no such agent.
            OrchestratorError: the agent has no turn that can be tried again.
        """
        agent_id, now = request.agent_id, self.clock()
        if self.get_agents_file().find_agent(agent_id) is None:
            raise UnknownAgentError(f"unknown agent {agent_id!r}")
        since = now - round(request.days * DAY)
        used = await self._load_turns(agent_id, since, now)
        whole = [turn for turn in used if turn.is_complete]
        if not whole:
            why = f"agent {agent_id!r} has no turn of this time that can be tried again"
            older = f"; {len(used)} were recorded by an older version" if used else ""
            raise OrchestratorError(why + older)
        return TurnSample(
            agent_id=agent_id,
            turns=tuple(turn.turn_id for turn in choose_sample(whole, request.turns)),
            of=len(whole),
            older=len(used) - len(whole),
        )

    async def compare_trial(
        self, report: TrialReport, verdicts: Verdicts = NO_VERDICTS
    ) -> SwitchReport:
        """Return what a trial's model did otherwise, and what the week before would cost by it."""
        week = await self._load_turns(report.agent_id, report.at - WEEK, report.at)
        found, tried = compare_turns(report, verdicts), list_tried_uses(report)
        price = self._find_price(report, week)
        usd = estimate_costs(week, tried, price)
        known = [turn.usd for turn in week if turn.usd is not None]
        unsaid = found.unsaid
        if price is None:
            unsaid += (describe_missing_prices([found.model]),)
        return found.model_copy(
            update={
                "turns": len(week),
                "recorded_usd": sum(known) if week and len(known) == len(week) else None,
                "week_usd": usd,
                "month_usd": usd and usd.scale_by(MONTH),
                "recorded_tokens": sum(turn.tokens for turn in week),
                "week_tokens": estimate_costs(week, tried, A_TOKEN),
                "unsaid": unsaid,
            }
        )

    async def _load_turns(self, agent_id: str, since: int, until: int) -> list[UsedTurn]:
        return await self.store.search(turn_sample.list_used_turns, agent_id, since, until)

    def _find_price(self, report: TrialReport, week: list[UsedTurn]) -> Price | None:
        """Return the price of the tried model for calls as long as the week's are on average."""
        file = self.get_agents_file()
        agent = file.find_agent(report.agent_id)
        calls = sum(turn.calls for turn in week)
        prompt = sum(turn.prompt for turn in week) // calls if calls else 0
        return find_model_price(file, agent, report.change.model or "", prompt)
