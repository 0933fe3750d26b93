"""Check prices and context windows of models against the limits in the file."""

from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.model_costs import (
    compute_compaction_threshold,
    find_model_facts,
    find_model_price,
    list_models,
)


def check_money(draft: Draft) -> None:
    """Warn about dollar budgets on unpriced models, and of summaries that come too late."""
    _check_prices(draft)
    _check_summary_threshold(draft)


def _check_prices(draft: Draft) -> None:
    for number, agent in draft.agents.items():
        known_later = agent.llm_provider == "auto"  # the model depends on the keys
        limits = (agent.budget, draft.budget)
        if known_later or not any(one is not None and one.is_in_dollars for one in limits):
            continue
        for model in list_models(agent):
            if find_model_price(draft, agent, model) is None:
                draft.add_warning(
                    ("agents", number, "budget"),
                    f"agent '{agent.agent_id}': {model} has no price, so its calls do not count "
                    'against the budget in US dollars; add it to "prices"',
                    agent.agent_id,
                )


def _check_summary_threshold(draft: Draft) -> None:
    for number, agent in draft.agents.items():
        if not agent.compaction.enabled:
            continue
        found = find_model_facts(draft, agent, list_models(agent)[0])
        window = None if found is None else found.context_window
        if window is not None and (threshold := compute_compaction_threshold(agent)) >= window:
            draft.add_warning(
                ("agents", number, "compaction", "thresholdTokens"),
                f"agent '{agent.agent_id}': conversations are summarized from {threshold:,} tokens "
                f"on, but {list_models(agent)[0]} reads {window:,}; lower thresholdTokens",
                agent.agent_id,
            )
