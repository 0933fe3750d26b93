"""Check the keys and the names of models."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.problems import describe_key_place
from orchestrator.agentsfile.provider_addresses import list_key_providers
from orchestrator.agentsfile.provider_names import ALIASES

SIMILAR = 0.8  # similarity of two names, so that a vendor's name is not taken for a provider's


def check_keys(draft: Draft, environ: Mapping[str, str], home: Path | None) -> None:
    """Warn about each agent whose model's key is not set."""
    for number, agent in draft.agents.items():
        if not agent.enabled:
            continue
        for field, provider in list_key_providers(agent):
            known = agent.providers.get(provider)
            key = None if known is None else known.key_var
            if key is not None and not (environ.get(key) or agent.env.get(key)):
                name = ".".join(map(str, field))
                use = "cannot answer" if name == "llmProvider" else f'cannot use its "{name}"'
                draft.add_warning(
                    ("agents", number, *field),
                    f"agent '{agent.agent_id}' {use}, because {key} is not set;"
                    f" {describe_key_place(key, home)} and run: orchestrator reload",
                    agent.agent_id,
                )


def check_prefixes(draft: Draft) -> None:
    """Warn about fallback and small models whose text before "/" is nearly a provider's name.

    Such a prefix counts as part of the model's name, as a vendor's does.
    """
    for number, agent in draft.agents.items():
        small = (agent.small_model,) if agent.small_model else ()
        if not (small or agent.fallback_models):
            continue
        usual, own = {*agent.providers, *ALIASES}, agent.providers.get(agent.llm_provider)
        vendors = own.vendors if own else ()
        for field, models in (("fallbackModels", agent.fallback_models), ("smallModel", small)):
            for model in models:
                prefix, slash, _ = model.partition("/")
                near = get_close_matches(prefix.lower(), agent.providers, n=1, cutoff=SIMILAR)
                if slash and near and prefix not in usual and near[0] not in vendors:
                    draft.add_warning(
                        ("agents", number, field),
                        f"agent '{agent.agent_id}' takes \"{model}\" for a model of"
                        f' {agent.llm_provider}; did you mean the provider "{near[0]}"?',
                        agent.agent_id,
                    )
