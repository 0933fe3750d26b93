"""Examine a trial before it starts: its turns, its cost, and whose words go where."""

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.agentsfile.model_costs import find_model_price, list_models
from orchestrator.control.trials import TrialEstimate, TrialRequest
from orchestrator.extension import DaemonView
from orchestrator.extensions.workbench.estimates import UsedModel, estimate_cost
from orchestrator.extensions.workbench.recorded_turns import (
    RecordedTurn,
    find_turn_id,
    load_recorded_turn,
)
from orchestrator.extensions.workbench.trial_purse import TrialShare, compute_share
from thinker.protocol.messages import UserMessage

NO_PRICE = (
    "{model} has no known price, so give a limit in tokens; or set its price in prices of"
    " agents.json"
)
NO_PROVIDER = "agents.json knows no provider {name!r}; write the model as PROVIDER/MODEL"
NO_ROOM = "the budget of {agent!r} leaves nothing for trials now"
NEW_PROVIDER = (
    "{messages} messages of {people} people would be sent to {provider}, which {agent!r} does not"
    " use yet; confirm the provider by its name"
)


class ExaminedRequest(NamedTuple):
    """A request with whole ids of turns, and the most that it may cost."""

    estimate: TrialEstimate
    turns: tuple[str, ...]
    agent_id: str
    limit_usd: float | None


@dataclass
class ExaminedTurns:
    """What matters of the turns of a ``request``, of which each is looked at once and dropped."""

    request: TrialRequest
    agent_id: str = ""
    ids: list[str] = field(default_factory=list)
    used: list[UsedModel] = field(default_factory=list)
    said: set[str] = field(default_factory=set)
    people: set[str] = field(default_factory=set)
    impossible: list[str] = field(default_factory=list)
    reasons: bool = False

    def add_turn(self, turn: RecordedTurn) -> None:
        """Note what matters of a turn."""
        self.agent_id = self.agent_id or _find_agent_id(turn)
        self.ids.append(turn.turn_id)
        self.people.update(turn.senders)
        self.reasons |= any(bool(part.settings.get("effort")) for part in turn.parts)
        for part in turn.parts:
            messages = (*part.history, *part.messages)
            texts = (one.content for one in messages if isinstance(one, UserMessage))
            self.said.update(f"{turn.chat.channel}:{turn.chat.chat_id} {text}" for text in texts)
        if turn.impossible:
            self.impossible.append(turn.impossible)
            return
        first = min(self.request.change.from_step, len(turn.requests) - 1)
        made = turn.requests[first:]
        self.used += [UsedModel(one.model, one.usage) for one in made]


def _find_agent_id(turn: RecordedTurn) -> str:
    return turn.parts[0].agent_id if turn.parts else turn.agent_id


class TrialExaminer:
    """Examines requests for trials in a daemon."""

    def __init__(self, daemon: DaemonView) -> None:
        self._daemon = daemon

    async def examine_request(self, request: TrialRequest) -> ExaminedRequest:
        """Return what a trial may cost, and why it cannot start, if so.

        Raises:
            UnknownNameError: a turn's name fits none, or several.
        """
        store, agents = self._daemon.store, self._daemon.get_agents_file()
        names = [await store.read(find_turn_id, name) for name in request.turns]
        found = ExaminedTurns(request)
        for name in dict.fromkeys(names):
            found.add_turn(await store.read(load_recorded_turn, name))
        rules = self._daemon.calls.gate.build_rules()
        share = await store.transact(compute_share, rules, found.agent_id)
        estimate = _build_estimate(found, agents, share)
        problem = _find_problem(found, estimate, agents, full=share.is_empty)
        limits = [limit for limit in (request.limit_usd, share.usd) if limit is not None]
        return ExaminedRequest(
            estimate.model_copy(update={"problem": problem}),
            tuple(found.ids),
            found.agent_id,
            min(limits, default=None),
        )


def _build_estimate(found: ExaminedTurns, agents: AgentsFile, share: TrialShare) -> TrialEstimate:
    request, agent = found.request, agents.find_agent(found.agent_id)
    change, times = request.change, request.times
    reasons = change.model is not None or change.effort is not None or found.reasons
    find_price = partial(find_model_price, agents, agent)
    cost = estimate_cost(found.used, find_price, change.model, reasons=reasons)
    new = _find_new_provider(change.model, agents, agent)
    return TrialEstimate(
        turns=len(found.ids),
        calls=cost.calls * times,
        tokens=cost.tokens * times,
        low_usd=None if cost.low is None else cost.low * times,
        high_usd=None if cost.high is None else cost.high * times,
        left_usd=share.usd,
        new_provider=new,
        messages=len(found.said) if new else 0,
        people=len(found.people) if new else 0,
    )


def _find_new_provider(model: str | None, agents: AgentsFile, agent: AgentDefinition | None) -> str:
    """Return the provider that would see words of an agent that does not use it; or nothing."""
    provider = "" if model is None else model.partition("/")[0]
    known = agents.known_providers.get(provider)
    used = {name.partition("/")[0] for name in (list_models(agent) if agent else ())}
    if known is None or known.local or known.wire == "demo" or provider in used:
        return ""
    return provider


def _find_problem(
    found: ExaminedTurns, estimate: TrialEstimate, agents: AgentsFile, *, full: bool
) -> str:
    """Return why the trial cannot start; empty if it can."""
    request, new = found.request, estimate.new_provider
    model = request.change.model
    provider = "" if model is None else model.partition("/")[0]
    if model is not None and provider not in agents.known_providers:
        return NO_PROVIDER.format(name=provider)
    if not found.used:
        return f"no turn can be tried: {found.impossible[0]}"
    if estimate.high_usd is None and request.limit_tokens is None:
        return NO_PRICE.format(model=model or found.used[0].model)
    if full:
        return NO_ROOM.format(agent=found.agent_id)
    if new and request.confirmed != new:
        facts = {"messages": estimate.messages, "people": estimate.people}
        return NEW_PROVIDER.format(provider=new, agent=found.agent_id, **facts)
    return ""
