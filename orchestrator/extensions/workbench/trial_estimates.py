"""Examine a trial before it starts: its turns, its cost, and whose words go where."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.agentsfile.model_costs import find_model_price, list_models
from orchestrator.control.trials import TrialEstimate, TrialRequest
from orchestrator.extension import DaemonView
from orchestrator.extensions.workbench.estimates import CostRange, estimate_cost
from orchestrator.extensions.workbench.recorded_turns import (
    RecordedTurn,
    find_turn_id,
    load_recorded_turn,
)
from orchestrator.extensions.workbench.trial_purse import compute_share
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
        turns = [await store.read(load_recorded_turn, name) for name in dict.fromkeys(names)]
        agent_id = turns[0].parts[0].agent_id if turns[0].parts else turns[0].agent_id
        agent, rules = agents.find_agent(agent_id), self._daemon.calls.gate.build_rules()
        usd, tokens = await store.transact(compute_share, rules, agent_id)
        cost = _estimate_turns(request, turns, agents, agent)
        estimate = TrialEstimate(
            turns=len(turns),
            calls=cost.calls * request.times,
            tokens=cost.tokens * request.times,
            low_usd=None if cost.low is None else cost.low * request.times,
            high_usd=None if cost.high is None else cost.high * request.times,
            left_usd=usd,
        )
        estimate = _add_new_provider(estimate, request, turns, agents, agent)
        full = 0.0 in (usd, tokens)
        problem = _find_problem(request, estimate, turns, agents, agent_id, full=full)
        limits = [limit for limit in (request.limit_usd, usd) if limit is not None]
        return ExaminedRequest(
            estimate.model_copy(update={"problem": problem}),
            tuple(turn.turn_id for turn in turns),
            agent_id,
            min(limits, default=None),
        )


def _estimate_turns(
    request: TrialRequest,
    turns: Sequence[RecordedTurn],
    agents: AgentsFile,
    agent: AgentDefinition | None,
) -> CostRange:
    change = request.change
    requests = [
        made
        for turn in turns
        if not turn.impossible
        for made in turn.requests[min(change.from_step, len(turn.requests) - 1) :]
    ]
    recorded = any(part.settings.get("effort") for turn in turns for part in turn.parts)
    reasons = change.model is not None or change.effort is not None or recorded
    find_price = partial(find_model_price, agents, agent)
    return estimate_cost(requests, find_price, change.model, reasons=reasons)


def _add_new_provider(
    estimate: TrialEstimate,
    request: TrialRequest,
    turns: Sequence[RecordedTurn],
    agents: AgentsFile,
    agent: AgentDefinition | None,
) -> TrialEstimate:
    """Add whose words would go to a provider that the agent does not use."""
    model = request.change.model
    provider = "" if model is None else model.partition("/")[0]
    known = agents.known_providers.get(provider)
    used = {name.partition("/")[0] for name in (list_models(agent) if agent else ())}
    if known is None or known.local or known.wire == "demo" or provider in used:
        return estimate
    said = {
        (turn.chat.channel, turn.chat.chat_id, message.content)
        for turn in turns
        for part in turn.parts
        for message in (*part.history, *part.messages)
        if isinstance(message, UserMessage)
    }
    people = {sender for turn in turns for sender in turn.senders}
    more = {"new_provider": provider, "messages": len(said), "people": len(people)}
    return estimate.model_copy(update=more)


def _find_problem(
    request: TrialRequest,
    estimate: TrialEstimate,
    turns: Sequence[RecordedTurn],
    agents: AgentsFile,
    agent_id: str,
    *,
    full: bool,
) -> str:
    """Return why the trial cannot start; empty if it can."""
    model = request.change.model
    provider = "" if model is None else model.partition("/")[0]
    impossible = [turn.impossible for turn in turns if turn.impossible]
    if model is not None and provider not in agents.known_providers:
        return NO_PROVIDER.format(name=provider)
    if len(impossible) == len(turns):
        return f"no turn can be tried: {impossible[0]}"
    if estimate.high_usd is None and request.limit_tokens is None:
        return NO_PRICE.format(model=model or turns[0].requests[0].model)
    if full:
        return NO_ROOM.format(agent=agent_id)
    new = estimate.new_provider
    if new and request.confirmed != new:
        facts = {"messages": estimate.messages, "people": estimate.people}
        return NEW_PROVIDER.format(provider=new, agent=agent_id, **facts)
    return ""
