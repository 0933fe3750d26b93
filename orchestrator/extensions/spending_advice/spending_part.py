"""Questions for more money in a daemon, and what the page and commands ask about spending."""

from collections.abc import Mapping
from functools import partial

import anyio
from pydantic import JsonValue, ValidationError

from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import JournalError, OrchestratorError
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.spending_advice import budget_questions, outlook, savings
from orchestrator.extensions.spending_advice.call_facts import AgentUse, load_agent_use
from orchestrator.extensions.spending_advice.cost_answers import (
    BUDGET_EXTEND,
    COSTS_FORECAST,
    COSTS_SAVINGS,
    ExtendedBudget,
    ForecastQuery,
    ForecastReport,
    MoreMoney,
    SavingsReport,
)
from orchestrator.extensions.spending_advice.raised_budgets import extend_budget, name_budget
from orchestrator.extensions.spending_advice.tried_savings import add_trials
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import retry_later
from orchestrator.journal.turns import usage
from orchestrator.placement import run_on_one_node
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.wakeup import Wakeup
from thinker.protocol.peer import FAILED, INVALID_PARAMS, Peer, RequestHandler, RpcError

NO_AMOUNT = "name an agent, or none for all, and US dollars between 0 and 1000, such as 0.10"
NO_SAVINGS = (
    "nothing is found: agents of 20 calls or more in 30 days, at known prices, are looked at"
)
NO_TRIALS = "nothing can be tried: the extension 'workbench' does not run"
LOOK = 60.0  # seconds between two looks at what was spent


class SpendingAdvicePart(Part):
    """Asks for money before a budget is used up, and answers questions about costs."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._configured = Wakeup()
        self._seen = (-1, -1)

    async def run(self) -> None:
        await run_on_one_node(self.daemon.placement, "spending", self._ask_for_money)

    async def _ask_for_money(self) -> None:
        while True:
            changed = self._configured.changed
            limited = has_dollar_limits(self.daemon.get_agents_file())
            try:
                if limited:
                    await self.look_at_spending()
            except JournalError as error:
                await retry_later(error)
            with anyio.move_on_after(LOOK if limited else None):
                await changed.wait()

    async def look_at_spending(self) -> None:
        """Ask about budgets that will be used up today, if there is any use or pause to judge."""
        store, rules = self.daemon.store, self.daemon.operations.guard.build_rules()
        newest = await store.read(_find_newest)
        if newest != self._seen and await store.transact(budget_questions.ask_for_money, rules):
            self.daemon.delivery.wake()
        self._seen = newest

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        del old, new
        self._seen = (-1, -1)
        self._configured.wake()

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        return {COSTS_FORECAST: self._forecast_costs, COSTS_SAVINGS: self._list_savings}

    def list_authored_methods(self, by: str) -> Mapping[str, RequestHandler]:
        return {BUDGET_EXTEND: partial(self._extend_budget, by)}

    async def _forecast_costs(self, params: JsonValue) -> ForecastReport:
        asked = ForecastQuery.model_validate(params or {}).agent_id
        rules = self.daemon.operations.guard.build_rules()
        found = await self.daemon.store.search(outlook.list_forecasts, rules, asked)
        return ForecastReport(agents=found)

    async def _list_savings(self, params: JsonValue) -> SavingsReport:
        del params
        rules = self.daemon.operations.guard.build_rules()
        uses = await self.daemon.store.search(_load_uses, rules)
        found = await self.daemon.machine.in_thread(savings.find_savings, rules.agents, uses)
        if not found:
            return SavingsReport(savings=(), note=NO_SAVINGS)
        try:
            return SavingsReport(savings=await add_trials(found, self._ask_part))
        except OrchestratorError:
            return SavingsReport(savings=found, note=NO_TRIALS)

    async def _ask_part(self, method: str, params: JsonValue) -> object:
        """Call a control method of another part."""
        for part in self.daemon.parts:
            handler = part.list_authored_methods("").get(method)
            if handler is not None:
                return await handler(params)
        raise OrchestratorError(NO_TRIALS)

    async def _extend_budget(self, by: str, params: JsonValue) -> ExtendedBudget:
        daemon, guard = self.daemon, self.daemon.operations.guard
        try:
            asked = MoreMoney.model_validate(params)
        except ValidationError:
            raise RpcError(INVALID_PARAMS, NO_AMOUNT) from None
        rules = guard.build_rules()
        try:
            paused = await daemon.store.transact(
                extend_budget, rules, asked.agent_id, asked.usd, by
            )
        except OrchestratorError as error:
            raise RpcError(FAILED, str(error)) from error
        guard.wake()
        text = f"{name_budget(asked.agent_id)} may spend ${asked.usd:g} more until midnight"
        return ExtendedBudget(text=text, paused=paused or "")


def has_dollar_limits(file: AgentsFile) -> bool:
    """Return whether any budget is in dollars, so that more can be asked for."""
    limits = (file.budget, *(agent.budget for agent in file.agents))
    return any(one is not None and one.is_in_dollars for one in limits)


def _load_uses(db: Database, rules: SpendingRules) -> list[AgentUse]:
    now = rules.clock()
    return [load_agent_use(db, agent.agent_id, now) for agent in rules.agents.agents]


def _find_newest(db: Database) -> tuple[int, int]:
    """Return what changes with every settled call and every pause."""
    return usage.find_newest_call_id(db), int(db.execute("SELECT max(id) FROM pause").get or 0)
