"""Find the changes that would save most: a cheaper model, the cached layout, fewer tools. Pure.

What a change would save is guessed here only to choose among changes; it is said after a trial.

Where: is it found what would save money?
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from orchestrator.agentsfile import AgentDefinition, AgentsFile, Price
from orchestrator.agentsfile.known_models import list_known_names
from orchestrator.agentsfile.model_costs import find_model_facts, find_model_price, list_models
from orchestrator.control.trials import TrialChange, TrialRequest
from orchestrator.extensions.spending_advice.call_facts import DAYS, AgentUse, CallFact
from orchestrator.extensions.spending_advice.cost_answers import Saving
from orchestrator.spending.budgets import compute_cost
from thinker.protocol.messages import Usage

MOST = 3  # savings that are named
TRIED = 20  # turns of a trial
MIN_CALLS = 20  # below which nothing can be told
WORTHWHILE = 0.05  # of an agent's cost, the least that is worth a change
CHEAPER = 0.7  # of the present cost, the most that another model may cost
CACHE_LIFE = 300_000  # milliseconds that a provider keeps a prompt, at least
SMALL = re.compile(r"(?:^|[-.])(mini|nano|lite|flash|haiku|sonnet|small|medium|fast)(?:[-.]|$)")
# Names of models for something else than conversations with tools.
SPECIAL = re.compile(r"audio|image|tts|realtime|search|transcribe|preview|codex|embed|ft:|ft-|live")
NUMBER = re.compile(r"\d+")


class FoundSaving(NamedTuple):
    """A change, and the dollars in a month that it may save."""

    saving: Saving
    guess: float


def find_savings(file: AgentsFile, uses: Sequence[AgentUse]) -> tuple[Saving, ...]:
    """Return the changes that may save most, the largest first."""
    found: list[FoundSaving] = []
    for use in uses:
        agent = file.find_agent(use.agent_id)
        if agent is None or len(use.calls) < MIN_CALLS or not use.month_usd:
            continue
        share = use.month_usd / sum(call.usd for call in use.calls)  # calls are the newest alone
        finders = (_find_cheaper_model, _find_layout, _find_tools)
        every = (one for find in finders if (one := find(file, agent, use)) is not None)
        found += [one._replace(guess=one.guess * share) for one in every]
    worth = [one for one in found if one.guess >= WORTHWHILE * one.saving.month_usd]
    return tuple(one.saving for one in sorted(worth, key=lambda one: -one.guess)[:MOST])


def _find_cheaper_model(
    file: AgentsFile, agent: AgentDefinition, use: AgentUse
) -> FoundSaving | None:
    model = use.calls[-1].model
    own = [call for call in use.calls if call.model == model]
    spent = sum(call.usd for call in own)
    known = {name for one in file.agents for name in list_models(one)}
    costs = {
        name: sum(_price_call(file, agent, name, call) for call in own)
        for name in _iter_alternatives(file, agent, model, max(call.prompt for call in own))
    }
    fitting = [name for name, cost in costs.items() if cost <= CHEAPER * spent]
    if not fitting:
        return None
    # Rather one that the home uses, the newest, and then the dearest: the likeliest to do as well.
    best = max(fitting, key=lambda name: (name in known, _read_version(name), costs[name]))
    text = f"Let {agent.agent_id} use {best} instead of {model}"
    change = TrialChange(model=best)
    return _build_saving(use, ("model", "model", best.partition("/")[2]), text, change)._replace(
        guess=spent - costs[best]
    )


def _iter_alternatives(
    file: AgentsFile, agent: AgentDefinition, model: str, longest: int
) -> Iterator[str]:
    provider, _, name = model.partition("/")
    family = re.split(r"[-.\d]", name)[0]
    named = [one for agent in file.agents for one in list_models(agent) if "*" not in one]
    siblings = (
        f"{provider}/{one}"
        for one in list_known_names(provider, agent.base_url or "")
        if one.startswith(family) and SMALL.search(one) and not SPECIAL.search(one)
    )
    for one in dict.fromkeys((*named, *siblings)):
        if one == model or one.partition("/")[0] != provider:
            continue
        facts = find_model_facts(file, agent, one)
        window = None if facts is None else facts.context_window
        if (window is None or window >= longest) and find_model_price(file, agent, one) is not None:
            yield one


def _find_layout(file: AgentsFile, agent: AgentDefinition, use: AgentUse) -> FoundSaving | None:
    """Judge `promptLayout`: only the first call of a turn finds another beginning than before."""
    if agent.prompt_layout == "cached":
        return None
    saved, newest = 0.0, dict[str, CallFact]()
    for call in use.calls:
        before = newest.get(call.chat_key)
        newest[call.chat_key] = call
        price = find_model_price(file, agent, call.model, call.prompt)
        if before is None or price is None or before.turn_id == call.turn_id:
            continue
        if call.at - before.at <= CACHE_LIFE and call.model == before.model:
            again = max(0, min(before.prompt, call.prompt) - call.cached)
            saved += again * _find_cache_discount(price) / 1e6
    text = f"Let {agent.agent_id} send what changes in its prompt last, so that more is cached"
    values = ("layout", "promptLayout", "cached")
    found = _build_saving(use, values, text, TrialChange(layout="cached"))
    return found._replace(guess=saved) if saved else None


def _find_tools(file: AgentsFile, agent: AgentDefinition, use: AgentUse) -> FoundSaving | None:
    saved, tokens = 0.0, sum(use.unused.values())
    for call in use.calls:
        price = find_model_price(file, agent, call.model, call.prompt)
        if price is not None:
            part = min(tokens, call.prompt) / max(1, call.prompt)
            cached = call.cached * _find_cache_discount(price)
            saved += part * (call.prompt * (price.input or 0.0) - cached) / 1e6
    if not saved:
        return None
    names = sorted(use.unused, key=lambda name: -use.unused[name])[:100]
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")  # noqa: PLR2004 - as many as fit a line
    text = f"Do not offer {agent.agent_id} tools that it never called in {DAYS} days: {listed}"
    denied = ", ".join(dict.fromkeys((*agent.denied_tools, *names)))
    change = TrialChange(remove_tools=tuple(names))
    found = _build_saving(use, ("tools", "deniedTools", denied), text, change)
    return found._replace(guess=saved)


def _build_saving(
    use: AgentUse, values: tuple[str, str, str], text: str, change: TrialChange
) -> FoundSaving:
    kind, field, value = values
    turns = list(dict.fromkeys(call.turn_id for call in use.calls))
    chosen = turns[:: max(1, len(turns) // TRIED)][-TRIED:]
    spent = sum(call.usd for call in use.calls if call.turn_id in chosen)
    request = TrialRequest(
        turns=tuple(chosen),
        change=change,
        kind="switch",
        limit_usd=round(max(0.01, 2 * spent), 4),
        note=f"saving: {kind} of {use.agent_id}",
    )
    saving = Saving.model_validate(
        {
            "agent_id": use.agent_id,
            "kind": kind,
            "text": text,
            "field": field,
            "value": value,
            "month_usd": round(use.month_usd, 4),
            "trial": request,
        }
    )
    return FoundSaving(saving, 0.0)


def _price_call(file: AgentsFile, agent: AgentDefinition, model: str, call: CallFact) -> float:
    used = Usage(prompt=call.prompt, completion=call.completion, cached=call.cached)
    return compute_cost(find_model_price(file, agent, model, call.prompt), used) or 0.0


def _find_cache_discount(price: Price) -> float:
    """Return what a million prompt tokens cost less where they are cached."""
    given = price.input or 0.0
    return 0.0 if price.cached is None else max(0.0, given - price.cached)


def _read_version(name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in NUMBER.findall(name)[:2])
