"""The price and the context window of each model of an agent.

``prices`` of agents.json come first, then the built-in data.

Where: is the price of a model call found?
"""

from typing import TypeAlias

from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.agents_file import AgentsFile
from orchestrator.agentsfile.costs import Price, find_price
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.known_models import KnownModel, find_known_model
from thinker.protocol.context_windows import ASSUMED, ASSUMED_LOCAL, ContextWindow
from thinker.protocol.providers import PROVIDERS

PricedFile: TypeAlias = AgentsFile | Draft  # what prices depend on


def list_models(agent: AgentDefinition) -> list[str]:
    """List the models that the agent may call, named as in `thinker.models.choose`."""
    return agent.list_called_models()


def find_model_price(
    file: PricedFile, agent: AgentDefinition | None, model: str, prompt: int = 0
) -> Price | None:
    """Return the price of an agent's call of ``provider/model`` with this many prompt tokens.

    None means that the price is unknown.
    """
    found = find_price_list(file, agent, model)
    return found.find_price(prompt) if isinstance(found, KnownModel) else found


def find_price_list(
    file: PricedFile, agent: AgentDefinition | None, model: str
) -> Price | KnownModel | None:
    """Return the price that the file sets for a model, or the built-in price."""
    return find_price(file.prices, model) or find_model_facts(file, agent, model)


def find_model_facts(
    file: PricedFile, agent: AgentDefinition | None, model: str
) -> KnownModel | None:
    """Return the built-in data of ``provider/model`` at the address where the agent calls it."""
    provider, _, name = model.partition("/")
    return find_known_model(provider, name, _find_address(file, agent, provider, name))


def find_window(
    agent: AgentDefinition, told: ContextWindow | None = None, model: str = ""
) -> ContextWindow:
    """Return the context window of an agent's model; ``told`` is what its worker found out.

    ``model`` is the model in use, if the file leaves it open.
    """
    name = model or f"{agent.llm_provider}/{agent.model or ''}"
    known = agent.providers.get(name.partition("/")[0])
    stated = agent.context_tokens or (known and known.context_tokens)
    if stated:
        return ContextWindow(model=name, tokens=stated, source="setting")
    if told is not None and told.model == name:
        return told
    tokens = _find_known_window(agent, name)
    if tokens:
        return ContextWindow(model=name, tokens=tokens, source="table")
    assumed = ASSUMED_LOCAL if agent.is_local else ASSUMED
    return ContextWindow(model=name, tokens=assumed, source="assumed")


def list_known_windows(agent: AgentDefinition, model: str) -> tuple[str, ...]:
    """Return the windows that the table knows, as `ThinkerSettings.known_windows` has them."""
    own, *others = list_models(agent)
    names = (own.replace("*", model), *others)
    found = ((name, _find_known_window(agent, name)) for name in names)
    return tuple(f"{name}={tokens}" for name, tokens in found if tokens)


def _find_known_window(agent: AgentDefinition, name: str) -> int | None:
    provider, _, model = name.partition("/")
    address = agent.base_url if provider == agent.llm_provider else ""
    found = find_known_model(provider, model, address or _find_own_address(agent, provider))
    return found and found.context_window


def compute_compaction_threshold(agent: AgentDefinition, told: ContextWindow | None = None) -> int:
    """Return the tokens above which an agent's conversations are summarized.

    Unless the agent sets it, the threshold is at most half of the model's context window.
    """
    compaction = agent.compaction
    if "threshold_tokens" in compaction.model_fields_set:
        return compaction.threshold_tokens
    return min(compaction.threshold_tokens, find_window(agent, told).tokens // 2)


def _find_address(
    file: PricedFile, agent: AgentDefinition | None, provider: str, model: str
) -> str:
    """Return the address of a model's API; empty for the provider's usual one."""
    own = agent is not None and agent.llm_provider == provider
    if agent is not None and own and agent.model == model:
        return agent.base_url or _find_own_address(agent, provider)
    for reference in file.models.values():
        if (reference.provider, reference.model) == (provider, model):
            return str(reference.base_url or "")
    if agent is None:
        return str(file.providers[provider].base_url or "") if provider in file.providers else ""
    return (own and agent.base_url) or _find_own_address(agent, provider)


def _find_own_address(agent: AgentDefinition, provider: str) -> str:
    """Return the address of a provider that the file defines; empty for a known provider."""
    there = agent.providers.get(provider)
    return "" if there is None or there is PROVIDERS.get(provider) else there.base_url
