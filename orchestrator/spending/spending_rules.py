"""Decide inside a transaction whether an agent may continue, and count its usage.

The state is in the journal, so that it survives restarts. The chat in which a pause began and the
chat of ``costControls`` get a notice immediately, other chats when they next write.

Where: is the budget reserved before a model call?
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple
from zoneinfo import ZoneInfo

import structlog

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition, AgentsFile, Budget, Price
from orchestrator.agentsfile.known_models import KnownModel
from orchestrator.agentsfile.model_costs import find_price_list
from orchestrator.broker.broker_wire import CallEnded
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.dialect import DECIDING, get_dialect
from orchestrator.journal.turns import budget_extensions, pauses, sessions, turns, usage
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn
from orchestrator.journal.turns.usage import Amount
from orchestrator.spending import budgets
from orchestrator.spending.budgets import NO_AMOUNTS, Amounts, BudgetVerdict, WindowSpending
from orchestrator.spending.operator_chat import find_operator_chat
from orchestrator.timezones import load_zone_or_utc
from thinker.protocol.background import MeteredResult
from thinker.protocol.messages import Usage
from thinker.protocol.methods import StepCommit

MAX_PRICES = 256  # prices that are kept in memory; a process may name any model
RECHECK = 60.0  # most seconds between two checks whether a pause may end by itself
log = structlog.get_logger()


class UnnamedCall(NamedTuple):
    """A call that its worker did not name, and the turn or job that may have made it.

    ``reserved_since`` is the time since which its reservation may be open or lost; None if that
    of the turn is for its next call.
    """

    agent_id: str
    work: str
    call: CallEnded
    reserved_since: int | None


@dataclass(frozen=True)
class SpendingRules:
    """The limits of the agents, as configured when a transaction asks for them.

    ``clock`` returns milliseconds since the epoch, as ``configured_at`` is: when a refused key may
    have been replaced.
    """

    agents: AgentsFile
    environ: Mapping[str, str]
    clock: Callable[[], int]
    configured_at: int
    # What is known of the prices of agents' models, as that is needed twice for each call.
    _prices: dict[tuple[str, str], Price | KnownModel | None] = field(
        default_factory=dict, init=False, compare=False
    )

    def is_unlimited(self, agent: AgentDefinition | None) -> bool:
        """Return whether only a pause can keep an agent from its next call."""
        if agent is None or agent.cost_controls is not None:
            return False
        return agent.budget is None and self.agents.budget is None

    def enforce_admission_limits(self, db: Database, agent_id: str, row: InboxRow) -> Pause | None:
        """Pause the agent if it is over a limit, and notify the chat once.

        Return the pause, or None.
        """
        pause = self._enforce_limits(db, agent_id, "", row.build_address)
        if pause is not None and row.kind == "message":
            pauses.send_pause_notice(
                db, pause, row.build_address(), format_pause_notice(pause), self.clock()
            )
        return pause

    def enforce_turn_limits(self, db: Database, turn: Turn) -> Pause | None:
        """Pause the agent if it is over a limit, and notify the chat; return the pause, or None.

        The turn waits for it before it gets a worker. A turn whose last step was the answer makes
        no more model calls, so it never waits.
        """
        if sessions.has_answer(db, turn.id):
            return None
        if usage.is_reserved(db, turn.id):  # its call has room in the budget and counts already
            return pauses.find_pause(db, turn.agent_id)
        return self._enforce_limits(
            db, turn.agent_id, turn.id, partial(_find_turn_address, db, turn)
        )

    def reserve_next_call(self, db: Database, turn: Turn) -> None:
        """Reserve the next model call of a turn, unless that was done."""
        if not (sessions.has_answer(db, turn.id) or usage.is_reserved(db, turn.id)):
            tokens = usage.find_last_tokens(db, turn.agent_id, turn.id)
            self._reserve_tokens(db, turn, tokens or budgets.FIRST_CALL, self.clock())

    def reserve_first_call(self, db: Database, turn: Turn) -> None:
        """Reserve the first model call of a turn that was just opened."""
        tokens = usage.find_last_tokens(db, turn.agent_id, "")
        self._reserve_tokens(db, turn, tokens or budgets.FIRST_CALL, turn.started_at)

    def settle_step(
        self, db: Database, turn: Turn, commit: StepCommit, seq: int, now: int
    ) -> tuple[Pause | None, bool]:
        """Count the usage of step ``seq`` inside T3, and reserve the next call.

        Return the pause for which the turn has to wait, as `enforce_turn_limits` does, and whether
        chats may have got a notice.
        """
        used = commit.usage
        if not (used.prompt or used.completion):  # a task's plan: no model was called
            return None, False
        usd = self._compute_cost(turn.agent_id, commit.model, used)
        usage.settle_call(db, turn.agent_id, turn.id, commit.model, used, usd, now, seq)
        ends = not commit.calls and sessions.is_answer(commit.response.content, commit.finish)
        if ends and self.is_unlimited(self.agents.find_agent(turn.agent_id)):
            return None, False  # nothing can be exceeded, and no call waits for a pause
        pause = self._enforce_limits(
            db, turn.agent_id, turn.id, partial(_find_turn_address, db, turn)
        )
        if not ends and pause is None:
            self._reserve_tokens(db, turn, used.prompt + used.completion, now)
        return None if ends else pause, pause is not None

    def reserve_work(
        self,
        db: Database,
        agent_id: str,
        work: str,
        tokens: int,
        foreseen: MeteredResult | None = None,
    ) -> bool:
        """Reserve tokens for a model call outside of turns; return False if it is not allowed.

        ``work`` identifies the call as a turn's id does its calls. ``foreseen`` is what another
        model than the agent's own will use.
        """
        definition = self.agents.find_agent(agent_id)
        if definition is None or pauses.find_pause(db, agent_id) is not None:
            return False
        usage.mark_reservation_lost(db, work)
        model, amount = self._find_model(agent_id), self._estimate_amount(agent_id, tokens)
        if foreseen is not None:
            model, amounts = foreseen.model, Amounts.from_result(foreseen)
            usd = self._compute_cost(agent_id, model, foreseen.usage, amounts)
            amount = Amount(tokens, usd or 0.0)
        if self._find_exceeded_budget(db, definition, amount) is not None:
            return False
        usage.reserve_amount(db, agent_id, work, model, amount, self.clock())
        return True

    def settle_work(self, db: Database, agent_id: str, work: str, result: MeteredResult) -> None:
        model, used = result.model, result.usage
        usd = self._compute_cost(agent_id, model, used, Amounts.from_result(result))
        usage.settle_call(db, agent_id, work, model, used, usd, self.clock())

    def book_calls(self, db: Database, calls: Sequence[UnnamedCall]) -> None:
        """Count calls that no step or answer names."""
        for unnamed in calls:
            call = unnamed.call
            model = call.model or self._find_model(unnamed.agent_id)
            agent_id = usage.find_charged_agent(db, unnamed.work) or unnamed.agent_id
            if unnamed.reserved_since is not None:
                usage.delete_lost_reservation(db, unnamed.work, unnamed.reserved_since)
            else:
                usage.delete_stopped_reservation(db, unnamed.work)
            usd = self._compute_cost(agent_id, model, call.usage)
            usage.record_usage(
                db, agent_id, unnamed.work or None, model, call.usage, usd, self.clock()
            )

    def _reserve_tokens(self, db: Database, turn: Turn, tokens: int, now: int) -> None:
        agent_id, model = turn.agent_id, self._find_model(turn.agent_id)
        amount = self._estimate_amount(agent_id, tokens)
        usage.reserve_amount(db, agent_id, turn.id, model, amount, now)

    def _compute_cost(
        self, agent_id: str, model: str, used: Usage, amounts: Amounts = NO_AMOUNTS
    ) -> float | None:
        price = self._find_price(agent_id, model, used.prompt)
        return None if price is None else budgets.compute_cost(price, used, amounts)

    def _find_price(self, agent_id: str, model: str, prompt: int) -> Price | None:
        key = agent_id, model
        if key not in self._prices:
            if len(self._prices) == MAX_PRICES:
                self._prices.clear()
            self._prices[key] = find_price_list(
                self.agents, self.agents.find_agent(agent_id), model
            )
        found = self._prices[key]
        return found.find_price(prompt) if isinstance(found, KnownModel) else found

    def pause_refused_agent(self, db: Database, turn: Turn, reason: str) -> None:
        """Pause an agent whose calls its provider refuses, until the next trial."""
        definition = self.agents.find_agent(turn.agent_id)
        if definition is not None:
            self._pause_and_notify(
                db, definition, pauses.ACCOUNT, reason, _find_turn_address(db, turn)
            )

    def list_budgets(self, db: Database) -> dict[str, list[WindowSpending]]:
        """Return each agent's periods with a limit, those of all as `SHARED`, and their usage."""
        names = (usage.SHARED, *(agent.agent_id for agent in self.agents.agents))
        return {name: list(self.iter_spent(db, name)) for name in names}

    def find_budget(self, agent_id: str) -> tuple[Budget | None, ZoneInfo]:
        """Return the budget of an agent, or of all (`SHARED`), and the time zone of its days."""
        agent = self.agents.find_agent(agent_id)
        zone = load_zone_or_utc(None if agent is None else agent.timezone, self.environ)
        if agent_id == usage.SHARED:
            return self.agents.budget, zone
        return None if agent is None else agent.budget, zone

    def detect_anomaly(self, db: Database, definition: AgentDefinition) -> BudgetVerdict | None:
        """Run an agent's anomaly detector; None when it is disabled."""
        controls = definition.cost_controls
        if controls is None or not controls.enabled:
            return None
        now = self.clock()
        used = usage.sum_tokens_by_minute(db, definition.agent_id, budgets.find_window_start(now))
        return budgets.assess_usage(used, now, controls)

    def pause_agent(self, db: Database, agent_id: str, by: str) -> None:
        """Pause an agent on the operator's request, unless it is paused."""
        pauses.begin_pause(db, agent_id, "operator", "my operator paused me", by, self.clock())

    def resume_agent(self, db: Database, agent_id: str, by: str) -> str | None:
        """End a pause on the operator's request; return the reason why it stays, or None."""
        definition = self.agents.find_agent(agent_id)
        over = None if definition is None else self._find_budget_problem(db, definition, "")
        if over is not None and pauses.find_pause(db, agent_id) is not None:
            return f"{over}; raise it in agents.json, or wait"
        pauses.end_pause(db, agent_id, by, self.clock())
        return None

    def lift_pauses(self, db: Database, share: Container[str] | None = None) -> tuple[bool, float]:
        """End due pauses of a share's agents.

        Return whether one ended, and the seconds until the next.
        """
        now, ended, delay = self.clock(), False, RECHECK
        for pause in pauses.list_pauses(db):
            if share is not None and pause.agent_id not in share:
                continue
            trial = pauses.find_next_trial(db, pause)
            definition = self.agents.find_agent(pause.agent_id)
            if trial is not None and pause.at < self.configured_at:
                ended = pauses.end_pause(db, pause.agent_id, "configuration", now) or ended
            elif trial is not None and not pause.at <= now < trial:  # due, or the clock was set
                pauses.end_pause_for_trial(db, pause, now)
                ended = True
            elif trial is not None:
                delay = min(delay, (trial - now) / 1000)
            elif pause.kind == "budget" and definition is not None:
                room = self._find_budget_problem(db, definition, "") is None
                ended = (room and pauses.end_pause(db, pause.agent_id, "budgets", now)) or ended
        return ended, delay

    def _enforce_limits(
        self, db: Database, agent_id: str, turn_id: str, origin: Callable[[], Address]
    ) -> Pause | None:
        """Pause an agent over a limit and notify ``origin``; return the agent's pause, or None."""
        found = pauses.find_pause(db, agent_id)
        definition = self.agents.find_agent(agent_id)
        if found is not None or definition is None:
            return found
        verdict = self.detect_anomaly(db, definition)
        over = self._find_budget_problem(db, definition, turn_id)
        if verdict is not None and verdict.reason is not None:
            return self._pause_and_notify(db, definition, "anomaly", verdict.reason, origin())
        if over is None:
            return None
        return self._pause_and_notify(db, definition, "budget", over, origin())

    def _pause_and_notify(
        self,
        db: Database,
        definition: AgentDefinition,
        kind: str,
        reason: str,
        origin: Address,
    ) -> Pause | None:
        now, agent_id = self.clock(), definition.agent_id
        pause = pauses.begin_pause(db, agent_id, kind, reason, "budgets", now)
        if pause is None:
            return None
        if pauses.is_trial(db, pause):
            log.info("agent_paused_again", agent_id=agent_id, kind=kind, reason=reason)
        else:
            log.warning("agent_paused", agent_id=agent_id, kind=kind, reason=reason)
        pauses.send_pause_notice(db, pause, origin, format_pause_notice(pause), now)
        address = find_operator_chat(db, definition)
        if address is not None:
            text = chat_texts.PAUSE_ALERT.format(agent=agent_id, reason=reason)
            pauses.send_pause_notice(db, pause, address, text, now)
        return pause

    def _find_budget_problem(
        self, db: Database, definition: AgentDefinition, turn_id: str
    ) -> str | None:
        if definition.budget is None and self.agents.budget is None:
            return None
        agent_id = definition.agent_id
        tokens = usage.find_last_tokens(db, agent_id, turn_id) or budgets.FIRST_CALL
        return self._find_exceeded_budget(db, definition, self._estimate_amount(agent_id, tokens))

    def _find_exceeded_budget(
        self, db: Database, definition: AgentDefinition, call: Amount
    ) -> str | None:
        if self.agents.budget is not None:  # in which agents of other nodes reserve as well
            get_dialect(db).wait_for_turn(db, DECIDING)
        reasons = (
            budgets.find_exceeded_limit(limits, spent, call)
            for whose in (definition.agent_id, usage.SHARED)
            for limits, spent in self.iter_spent(db, whose)
        )
        return next((reason for reason in reasons if reason is not None), None)

    def iter_spent(self, db: Database, agent_id: str) -> Iterator[WindowSpending]:
        """Yield each period with a limit, and the usage in it."""
        now, (budget, zone), more = self.clock(), self.find_budget(agent_id), 0.0
        if budget is not None and budget.is_in_dollars:
            day = budgets.find_midnight_before(0, now, zone)
            more = budget_extensions.find_extension(db, agent_id, day)
        name = "shared budget" if agent_id == usage.SHARED else "budget"
        for limits in budgets.list_budget_windows(budget, now, zone, name):
            spent = usage.sum_spending(db, agent_id, limits.since)
            yield limits.extend_dollars(more), spent

    def _estimate_amount(self, agent_id: str, tokens: int) -> Amount:
        price = self._find_price(agent_id, self._find_model(agent_id), tokens)
        return Amount(tokens, 0.0 if price is None else tokens * price.highest_rate)

    def _find_model(self, agent_id: str) -> str:
        definition = self.agents.find_agent(agent_id)
        return "" if definition is None else f"{definition.llm_provider}/{definition.model or ''}"


def _find_turn_address(db: Database, turn: Turn) -> Address:
    return turns.load_opening_message(db, turn.id).build_address()


def format_pause_notice(pause: Pause) -> str:
    return chat_texts.PAUSED.format(reason=pause.reason)
