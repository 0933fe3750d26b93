"""Decide inside a transaction whether an agent may go on, and count what its calls use.

The state is in the journal, so that it survives restarts. The chat in which a pause began and the
chat of ``costControls`` get a notice at once, other chats when they next write.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import structlog

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.agentsfile.model_costs import price_of
from orchestrator.broker.broker_wire import CallEnded
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import pauses, transcript, turns, usage
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn
from orchestrator.journal.turns.usage import Amount
from orchestrator.spending import budgets
from orchestrator.spending.budgets import NO_AMOUNTS, Amounts, BudgetVerdict, Window
from orchestrator.timezones import zone_or_utc
from thinker.protocol.background import MeteredResult
from thinker.protocol.messages import Usage
from thinker.protocol.methods import StepCommit

RECHECK = 60.0  # most seconds between two checks whether a pause may end by itself
log = structlog.get_logger()


class UnnamedCall(NamedTuple):
    """A call that its worker did not name, and the turn or job that can have made it.

    ``reserved_since`` is the time since which its reservation may be open or lost; None if that
    of the turn is for its next call.
    """

    agent_id: str
    work: str
    call: CallEnded
    reserved_since: int | None


@dataclass(frozen=True)
class SpendingRules:
    """The limits of the agents, as they are configured when a transaction is asked for.

    ``clock`` returns milliseconds since the epoch, as ``configured_at`` is: when a refused key may
    have been replaced.
    """

    agents: AgentsFile
    environ: Mapping[str, str]
    clock: Callable[[], int]
    configured_at: int

    def admits(self, db: Database, agent_id: str, row: InboxRow) -> Pause | None:
        """Return the pause for which a message has to wait before T2; notify its chat once."""
        pause = self._check(db, agent_id, "", row.address)
        if pause is not None and row.kind == "message":
            pauses.tell(db, pause, row.address(), pause_notice(pause), self.clock())
        return pause

    def holds(self, db: Database, turn: Turn) -> Pause | None:
        """Return the pause for which a turn has to wait before a worker gets it.

        A turn whose last step was the answer makes no model call any more, so it never waits.
        """
        if transcript.answered(db, turn.id):
            return None
        if usage.is_reserved(db, turn.id):  # its call has room in the budget and counts already
            return pauses.find(db, turn.agent_id)
        return self._check(db, turn.agent_id, turn.id, partial(_origin, db, turn))

    def reserve(self, db: Database, turn: Turn) -> None:
        """Reserve what the turn's next model call may take, unless that was done."""
        if not (transcript.answered(db, turn.id) or usage.is_reserved(db, turn.id)):
            self._reserve(db, turn, self._next_call(db, turn.agent_id, turn.id))

    def reserve_first(self, db: Database, turn: Turn) -> None:
        """Reserve what the first model call of a turn that was just opened may take."""
        self._reserve(db, turn, self._next_call(db, turn.agent_id))

    def settle(
        self, db: Database, turn: Turn, commit: StepCommit, seq: int
    ) -> tuple[Pause | None, bool]:
        """Count the usage of step ``seq`` inside T3; for the next call do as `holds` and `reserve`.

        Return the pause for which the turn has to wait, and whether chats may have got a notice.
        """
        if not commit.usage.total:  # a task's plan: no model was called
            return None, False
        used, agent = commit.usage, self.agents.agent(turn.agent_id)
        usd = self._cost(turn.agent_id, commit.model, used)
        usage.settle(db, turn.agent_id, turn.id, commit.model, used, usd, self.clock(), seq)
        ends = not commit.calls and transcript.is_answer(commit.response.content, commit.finish)
        if ends and agent is not None and agent.budget is None and agent.cost_controls is None:
            return None, False  # nothing can be exceeded, and no call waits for a pause
        pause = self._check(db, turn.agent_id, turn.id, partial(_origin, db, turn))
        if not ends and pause is None:
            self._reserve(db, turn, self._priced(turn.agent_id, used.prompt + used.completion))
        return None if ends else pause, pause is not None

    def reserve_work(
        self,
        db: Database,
        agent_id: str,
        work: str,
        tokens: int,
        foreseen: MeteredResult | None = None,
    ) -> bool:
        """Reserve tokens for a model call outside of turns; return False if it must not be made.

        ``work`` identifies the call as a turn's id does its calls. ``foreseen`` is what another
        model than the agent's own will use.
        """
        definition = self.agents.agent(agent_id)
        if definition is None or pauses.find(db, agent_id) is not None:
            return False
        usage.lose(db, work)
        model, amount = self._model(agent_id), self._priced(agent_id, tokens)
        if foreseen is not None:
            model, amounts = foreseen.model, Amounts.of(foreseen)
            usd = self._cost(agent_id, model, foreseen.usage, amounts)
            amount = Amount(tokens, usd or 0.0)
        if self._over_budget(db, definition, amount) is not None:
            return False
        usage.reserve(db, agent_id, work, model, amount, self.clock())
        return True

    def settle_work(self, db: Database, agent_id: str, work: str, result: MeteredResult) -> None:
        model, used = result.model, result.usage
        usd = self._cost(agent_id, model, used, Amounts.of(result))
        usage.settle(db, agent_id, work, model, used, usd, self.clock())

    def book(self, db: Database, calls: Sequence[UnnamedCall]) -> None:
        """Count calls that are in no step and no answer."""
        for unnamed in calls:
            call = unnamed.call
            model = call.model or self._model(unnamed.agent_id)
            agent_id = usage.charged(db, unnamed.work) or unnamed.agent_id
            if unnamed.reserved_since is not None:
                usage.replace_lost(db, unnamed.work, unnamed.reserved_since)
            else:
                usage.replace_stopped(db, unnamed.work)
            usd = self._cost(agent_id, model, call.usage)
            usage.book(db, agent_id, unnamed.work or None, model, call.usage, usd, self.clock())

    def _reserve(self, db: Database, turn: Turn, amount: Amount) -> None:
        model = self._model(turn.agent_id)
        usage.reserve(db, turn.agent_id, turn.id, model, amount, self.clock())

    def _cost(
        self, agent_id: str, model: str, used: Usage, amounts: Amounts = NO_AMOUNTS
    ) -> float | None:
        price = price_of(self.agents, self.agents.agent(agent_id), model, used.prompt)
        return budgets.cost(price, used, amounts)

    def refused(self, db: Database, turn: Turn, reason: str) -> None:
        """Pause an agent whose calls its provider refuses, until the next trial."""
        definition = self.agents.agent(turn.agent_id)
        if definition is not None:
            self._trip(db, definition, pauses.ACCOUNT, reason, _origin(db, turn))

    def budgets(self, db: Database) -> dict[str, list[tuple[Window, Amount]]]:
        """Return the periods with a limit of each agent, and what was used in them."""
        return {agent.agent_id: list(self._spent(db, agent)) for agent in self.agents.agents}

    def verdict(self, db: Database, definition: AgentDefinition) -> BudgetVerdict | None:
        """Run an agent's anomaly detector; None when it is disabled."""
        controls = definition.cost_controls
        if controls is None or not controls.enabled:
            return None
        now = self.clock()
        used = usage.buckets(db, definition.agent_id, budgets.window(now))
        return budgets.assess(used, now, controls)

    def pause(self, db: Database, agent_id: str, by: str) -> None:
        """Pause an agent on the operator's request, unless it is paused already."""
        pauses.begin(db, agent_id, "operator", "my operator paused me", by, self.clock())

    def resume(self, db: Database, agent_id: str, by: str) -> str | None:
        """End a pause on the operator's request; return why the agent stays paused, or None."""
        definition = self.agents.agent(agent_id)
        over = None if definition is None else self._no_room(db, definition, "")
        if over is not None and pauses.find(db, agent_id) is not None:
            return f"{over}; raise it in agents.json, or wait"
        pauses.end(db, agent_id, by, self.clock())
        return None

    def lift(self, db: Database) -> tuple[bool, float]:
        """End the pauses that may end now; return whether one did, and the seconds to wait."""
        now, ended, delay = self.clock(), False, RECHECK
        for pause in pauses.every(db):
            trial = pauses.next_trial(db, pause)
            definition = self.agents.agent(pause.agent_id)
            if trial is not None and pause.at < self.configured_at:
                ended = pauses.end(db, pause.agent_id, "configuration", now) or ended
            elif trial is not None and not pause.at <= now < trial:  # due, or the clock was set
                pauses.try_again(db, pause, now)
                ended = True
            elif trial is not None:
                delay = min(delay, (trial - now) / 1000)
            elif pause.kind == "budget" and definition is not None:
                room = self._no_room(db, definition, "") is None
                ended = (room and pauses.end(db, pause.agent_id, "budgets", now)) or ended
        return ended, delay

    def _check(
        self, db: Database, agent_id: str, turn_id: str, origin: Callable[[], Address]
    ) -> Pause | None:
        """Return an agent's pause; if a limit is exceeded, pause it and notify the origin."""
        found = pauses.find(db, agent_id)
        definition = self.agents.agent(agent_id)
        if found is not None or definition is None:
            return found
        verdict = self.verdict(db, definition)
        over = self._no_room(db, definition, turn_id)
        if verdict is not None and verdict.reason is not None:
            return self._trip(db, definition, "anomaly", verdict.reason, origin())
        return None if over is None else self._trip(db, definition, "budget", over, origin())

    def _trip(
        self,
        db: Database,
        definition: AgentDefinition,
        kind: str,
        reason: str,
        origin: Address,
    ) -> Pause | None:
        now, agent_id = self.clock(), definition.agent_id
        pause = pauses.begin(db, agent_id, kind, reason, "budgets", now)
        if pause is None:
            return None
        if pauses.is_trial(db, pause):
            log.info("agent_paused_again", agent_id=agent_id, kind=kind, reason=reason)
        else:
            log.warning("agent_paused", agent_id=agent_id, kind=kind, reason=reason)
        pauses.tell(db, pause, origin, pause_notice(pause), now)
        controls = definition.cost_controls
        if controls is None or controls.notify_channel is None or controls.notify_chat_id is None:
            return pause
        place = (controls.notify_channel, controls.notify_chat_id)
        address = pauses.address(db, agent_id, *place)
        if address is None:
            log.warning("notify_chat_unreachable", agent_id=agent_id, channel=place[0])
        else:
            text = chat_texts.PAUSE_ALERT.format(agent=agent_id, reason=reason)
            pauses.tell(db, pause, address, text, now)
        return pause

    def _no_room(self, db: Database, definition: AgentDefinition, turn_id: str) -> str | None:
        if definition.budget is None:
            return None
        return self._over_budget(db, definition, self._next_call(db, definition.agent_id, turn_id))

    def _over_budget(self, db: Database, definition: AgentDefinition, call: Amount) -> str | None:
        reasons = (
            budgets.exceeded(limits, spent, call) for limits, spent in self._spent(db, definition)
        )
        return next((reason for reason in reasons if reason is not None), None)

    def _spent(self, db: Database, definition: AgentDefinition) -> Iterator[tuple[Window, Amount]]:
        """Yield each period with a limit, and what was used in it."""
        if definition.budget is not None:
            zone = zone_or_utc(definition.timezone, self.environ)
            for limits in budgets.windows(definition.budget, self.clock(), zone):
                yield limits, usage.spent(db, definition.agent_id, limits.since)

    def _next_call(self, db: Database, agent_id: str, turn_id: str = "") -> Amount:
        return self._priced(agent_id, usage.last(db, agent_id, turn_id) or budgets.FIRST_CALL)

    def _priced(self, agent_id: str, tokens: int) -> Amount:
        definition, model = self.agents.agent(agent_id), self._model(agent_id)
        price = price_of(self.agents, definition, model, tokens)
        return Amount(tokens, 0.0 if price is None else tokens * price.dearest)

    def _model(self, agent_id: str) -> str:
        definition = self.agents.agent(agent_id)
        return "" if definition is None else f"{definition.llm_provider}/{definition.model or ''}"


def _origin(db: Database, turn: Turn) -> Address:
    return turns.origin(db, turn.id).address()


def pause_notice(pause: Pause) -> str:
    return chat_texts.PAUSED.format(reason=pause.reason)
