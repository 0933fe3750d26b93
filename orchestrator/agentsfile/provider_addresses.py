"""Check that each model's provider has an address."""

from collections.abc import Iterator

from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.positions import JsonPath
from thinker.protocol.providers import split_reference

AN_ADDRESS = "https://NAME.openai.azure.com"


def check_addresses(draft: Draft) -> None:
    """Drop agents whose provider has no address; warn about other models without one."""
    for number, agent in list(draft.agents.items()):
        for field, provider in list_key_providers(agent):
            known = agent.providers.get(provider)
            if known is None or known.base_url or known.wire == "demo":
                continue
            place, name = ("agents", number, *field), ".".join(map(str, field))
            message = (
                f"agent '{agent.agent_id}': \"{name}\" names {provider}, which has no address of"
                f' its own; set "providers": {{ "{provider}": {{ "baseUrl": "{AN_ADDRESS}" }} }}'
            )
            if name == "llmProvider":
                draft.add_error(place, f'{message}, or "baseUrl" in the agent', agent.agent_id)
                draft.agents.pop(number, None)
            else:
                draft.add_warning(place, message, agent.agent_id)


def list_key_providers(agent: AgentDefinition) -> Iterator[tuple[JsonPath, str]]:
    """Yield the providers that need a key, each with the field that names it."""
    if not agent.base_url:
        yield ("llmProvider",), agent.llm_provider
    own = agent.llm_provider
    others = [("fallbackModels", model) for model in agent.fallback_models]
    others += [("smallModel", agent.small_model)] if agent.small_model else []
    for field, model in others:
        provider, _ = split_reference(model, own, agent.providers)
        if provider != own:
            yield (field,), provider
    for path, served in agent.served_models:
        if not served.base_url:
            yield path, served.provider or ""
