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
from thinker.protocol.providers import PROVIDERS, split_reference

PricedFile: TypeAlias = AgentsFile | Draft  # what prices depend on


def list_models(agent: AgentDefinition) -> list[str]:
    """List the models that the agent may call, named as in `thinker.models.choose`."""
    provider = agent.llm_provider
    others = (*agent.fallback_models, *filter(None, (agent.small_model,)))
    named = ("/".join(split_reference(name, provider, agent.providers)) for name in others)
    additional = (model.name for _, model in agent.served_models)
    return [f"{provider}/{agent.model or '*'}", *dict.fromkeys((*named, *additional))]


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


def compute_compaction_threshold(agent: AgentDefinition) -> int:
    """Return the tokens above which an agent's conversations are summarized.

    Unless the agent sets it, the threshold is at most half of the model's context window.
    """
    compaction = agent.compaction
    provider = agent.llm_provider
    found = find_known_model(
        provider, agent.model or "", agent.base_url or _find_own_address(agent, provider)
    )
    window = None if found is None else found.context_window
    if window is None or "threshold_tokens" in compaction.model_fields_set:
        return compaction.threshold_tokens
    return min(compaction.threshold_tokens, window // 2)


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
