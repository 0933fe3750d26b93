"""Pay for trials: by their agents' budgets, within limits that no call may pass."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from orchestrator.agentsfile.model_costs import find_model_price
from orchestrator.extensions.workbench.recorded_turns import RecordedTurn
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import usage
from orchestrator.spending import budgets
from orchestrator.spending.spending_rules import SpendingRules
from thinker.protocol.background import MeteredResult
from thinker.protocol.messages import Usage
from thinker.protocol.methods import StepCommit

SHARE = 0.25  # of what each period of a budget leaves, which trials may spend
LIMIT = "the trial's limit of {limit} would be passed by the next call; raise it and go on"
BUDGET = "the agent is paused or its budget has no room for the next call"


class TrialShare(NamedTuple):
    """The dollars and the tokens that trials of an agent may spend now; None: any."""

    usd: float | None
    tokens: float | None

    @property
    def is_empty(self) -> bool:
        """Whether no trial can be paid."""
        return 0.0 in self


def compute_share(db: Database, rules: SpendingRules, agent_id: str) -> TrialShare:
    """Return what trials may spend of what the agent's budget leaves."""
    windows = rules.list_budgets(db).get(agent_id, [])
    usd = [one.usd - spent.usd for one, spent in windows if one.usd is not None]
    tokens = [one.tokens - spent.tokens for one, spent in windows if one.tokens is not None]
    shares = (max(0.0, SHARE * min(left)) if left else None for left in (usd, tokens))
    return TrialShare(*shares)


@dataclass(eq=False)
class TrialPurse:
    """What one trial may spend, and has spent or reserved so far."""

    limit_usd: float | None
    limit_tokens: float | None
    usd: float = 0.0
    tokens: int = 0
    reserved: dict[str, tuple[float, int]] = field(default_factory=dict)

    def find_exceeded_limit(self, usd: float, tokens: int) -> str:
        """Return the limit that one more call might pass; empty if no limit is near."""
        all_usd = self.usd + usd + sum(one for one, _ in self.reserved.values())
        all_tokens = self.tokens + tokens + sum(one for _, one in self.reserved.values())
        if self.limit_usd is not None and all_usd > self.limit_usd:
            return f"${self.limit_usd:.4f}"
        if self.limit_tokens is not None and all_tokens > self.limit_tokens:
            return f"{self.limit_tokens:,.0f} tokens"
        return ""


@dataclass(eq=False, kw_only=True)
class RunPurse:
    """Pays for the calls of one run, named ``work`` in the usage; see `StepPurse`."""

    store: Store
    build_rules: Callable[[], SpendingRules]
    purse: TrialPurse
    turn: RecordedTurn
    agent_id: str
    work: str
    model: str
    used: Usage = field(default_factory=Usage)

    async def reserve_step(self, number: int) -> str:
        """Reserve the call ``number``, as large as the recorded one or the last of this run."""
        requests = self.turn.requests
        recorded = requests[number].usage if number < len(requests) else Usage()
        expected = Usage(
            prompt=max(recorded.prompt, self.used.prompt + self.used.completion),
            completion=max(recorded.completion, self.used.completion),
        )
        return await self.reserve_call(expected)

    async def reserve_call(self, expected: Usage, work: str = "") -> str:
        """Reserve a call that uses this much; return why it is refused, if so."""
        rules, name = self.build_rules(), work or self.work
        usd = self._compute_cost(rules, self.model, expected) or 0.0
        limit = self.purse.find_exceeded_limit(usd, expected.total)
        if limit:
            return LIMIT.format(limit=limit)
        self.purse.reserved[name] = usd, expected.total
        foreseen = MeteredResult(model=self.model, usage=expected)
        asked = self.agent_id, name, expected.total, foreseen
        if await self.store.transact(rules.reserve_work, *asked):
            return ""
        del self.purse.reserved[name]
        return BUDGET

    async def settle_step(self, commit: StepCommit) -> float | None:
        self.used = commit.usage
        return await self.settle_call(commit.model, commit.usage)

    async def settle_call(self, model: str, used: Usage, work: str = "") -> float | None:
        """Count what a call has used; return its cost, if its price is known."""
        rules, name = self.build_rules(), work or self.work
        usd = self._compute_cost(rules, model, used)
        self.purse.reserved.pop(name, None)
        self.purse.usd += usd or 0.0
        self.purse.tokens += used.total
        result = MeteredResult(model=model, usage=used)
        await self.store.transact(rules.settle_work, self.agent_id, name, result)
        return usd

    async def release(self, work: str = "") -> None:
        """Give back what is reserved for a call that is not made."""
        name = work or self.work
        if self.purse.reserved.pop(name, None) is not None:
            await self.store.transact(usage.release_reservation, name)

    def _compute_cost(self, rules: SpendingRules, model: str, used: Usage) -> float | None:
        agents = rules.agents
        agent = agents.find_agent(self.agent_id)
        price = find_model_price(agents, agent, model, used.prompt)
        return budgets.compute_cost(price, used)
