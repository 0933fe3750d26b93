"""The models of an agent: what each costs, and how long its prompt may be.

``prices`` of agents.json come first, then what is known of the model.
"""

from collections.abc import Mapping
from typing import Protocol

from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.agents_file import ModelReference
from orchestrator.agentsfile.costs import Price, find_price
from orchestrator.agentsfile.known_models import KnownModel, known
from orchestrator.agentsfile.provider_settings import ProviderSettings
from thinker.protocol.providers import PROVIDERS, split_reference


class PricedFile(Protocol):
    """What prices depend on; an agents.json, also while it is being loaded."""

    @property
    def prices(self) -> Mapping[str, Price]:
        """Prices by ``provider/model``."""

    @property
    def providers(self) -> Mapping[str, ProviderSettings]:
        """Providers by a name of their own."""

    @property
    def models(self) -> Mapping[str, ModelReference]:
        """Models by name."""


def models_of(agent: AgentDefinition) -> list[str]:
    """Return the models that the agent may call, named as `thinker.models.choose` does."""
    provider = agent.llm_provider
    others = (*agent.fallback_models, *filter(None, (agent.small_model,)))
    named = ("/".join(split_reference(name, provider, agent.providers)) for name in others)
    beside = (model.name for _, model in agent.served)
    return [f"{provider}/{agent.model or '*'}", *dict.fromkeys((*named, *beside))]


def price_of(
    file: PricedFile, agent: AgentDefinition | None, model: str, prompt: int = 0
) -> Price | None:
    """Return what a call of ``provider/model`` by an agent costs, with so many prompt tokens.

    None means that the price is unknown.
    """
    own = find_price(file.prices, model)
    if own is not None:
        return own
    found = known_of(file, agent, model)
    return None if found is None else found.price(prompt)


def known_of(file: PricedFile, agent: AgentDefinition | None, model: str) -> KnownModel | None:
    """Return what is known of ``provider/model`` at the address where the agent asks it."""
    provider, _, name = model.partition("/")
    return known(provider, name, _address(file, agent, provider, name))


def compaction_threshold(agent: AgentDefinition) -> int:
    """Return the tokens above which an agent's conversations are summarized.

    Where the agent does not set it, it is at most half of its model's context window.
    """
    compaction = agent.compaction
    provider = agent.llm_provider
    found = known(provider, agent.model or "", agent.base_url or _own_address(agent, provider))
    window = None if found is None else found.context_window
    if window is None or "threshold_tokens" in compaction.model_fields_set:
        return compaction.threshold_tokens
    return min(compaction.threshold_tokens, window // 2)


def _address(file: PricedFile, agent: AgentDefinition | None, provider: str, model: str) -> str:
    """Return the address of a model's API; empty if it is the provider's own."""
    own = agent is not None and agent.llm_provider == provider
    if agent is not None and own and agent.model == model:
        return agent.base_url or _own_address(agent, provider)
    for reference in file.models.values():
        if (reference.provider, reference.model) == (provider, model):
            return str(reference.base_url or "")
    if agent is None:
        return str(file.providers[provider].base_url or "") if provider in file.providers else ""
    return (own and agent.base_url) or _own_address(agent, provider)


def _own_address(agent: AgentDefinition, provider: str) -> str:
    """Return the address of a provider of the file; empty for one that is known anyway."""
    there = agent.providers.get(provider)
    return "" if there is None or there is PROVIDERS.get(provider) else there.base_url
