"""Check what an agent's models cost and read, where the file sets limits on it."""

from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.model_costs import (
    compaction_threshold,
    known_of,
    models_of,
    price_of,
)


def check_money(draft: Draft) -> None:
    """Warn of dollar budgets for models without a price, and of summaries that come too late."""
    _priced(draft)
    _summarized_in_time(draft)


def _priced(draft: Draft) -> None:
    for number, agent in draft.agents.items():
        known_later = agent.llm_provider == "auto"  # which model it is depends on the keys
        if agent.budget is None or not agent.budget.in_dollars or known_later:
            continue
        for model in models_of(agent):
            if price_of(draft, agent, model) is None:
                draft.warn(
                    ("agents", number, "budget"),
                    f"agent '{agent.agent_id}': {model} has no price, so its calls do not count "
                    'against the budget in US dollars; add it to "prices"',
                    agent.agent_id,
                )


def _summarized_in_time(draft: Draft) -> None:
    for number, agent in draft.agents.items():
        found = known_of(draft, agent, models_of(agent)[0])
        window = None if found is None else found.context_window
        threshold = compaction_threshold(agent)
        if agent.compaction.enabled and window is not None and threshold >= window:
            draft.warn(
                ("agents", number, "compaction", "thresholdTokens"),
                f"agent '{agent.agent_id}': conversations are summarized from {threshold:,} tokens "
                f"on, but {models_of(agent)[0]} reads {window:,}; lower thresholdTokens",
                agent.agent_id,
            )
