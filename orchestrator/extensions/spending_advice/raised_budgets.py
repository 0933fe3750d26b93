"""Raise the limits of a budget in dollars until midnight."""

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import pauses
from orchestrator.journal.turns.budget_extensions import KEY, find_extension
from orchestrator.journal.turns.usage import SHARED
from orchestrator.spending import budgets
from orchestrator.spending.spending_rules import SpendingRules

MAX_EXTENSION = 1000.0  # dollars a day and budget; a slip of the keyboard must not ruin its owner
NO_DOLLARS = "{whose} no limit in dollars that could be raised; see: budget"
TOO_MUCH = "that is more than ${most:g} today for {whose}; raise its limit in agents.json instead"


def extend_budget(
    db: Database, rules: SpendingRules, agent_id: str, usd: float, by: str
) -> str | None:
    """Raise each limit of an agent, or of all (`SHARED`), in dollars until midnight.

    Agents whose pause it was continue. Return why the agent, or one of all, stays paused.

    Raises:
        OrchestratorError: there is no limit in dollars, or it got `MAX_EXTENSION` today.
    """
    budget, zone = rules.find_budget(agent_id)
    if budget is None or not budget.is_in_dollars:
        whose = f"agent {agent_id!r} has" if agent_id else "all agents together have"
        raise OrchestratorError(NO_DOLLARS.format(whose=whose))
    now = rules.clock()
    day = budgets.find_midnight_before(0, now, zone)
    total = round(find_extension(db, agent_id, day) + usd, 6)
    if total > MAX_EXTENSION:
        raise OrchestratorError(TOO_MUCH.format(most=MAX_EXTENSION, whose=name_budget(agent_id)))
    db.execute(
        "INSERT INTO meta VALUES(?,?) ON CONFLICT(k) DO UPDATE SET v = excluded.v",
        (KEY.format(agent_id), f"{day} {total}"),
    )
    subject = f"agent {agent_id}" if agent_id else "shared budget"
    audit.record_decision(db, by, f"may spend ${total:g} more today", subject, now)
    if agent_id == SHARED:
        stays = [
            rules.resume_agent(db, pause.agent_id, by)
            for pause in pauses.list_pauses(db)
            if pause.kind == "budget"
        ]
        return next((reason for reason in stays if reason is not None), None)
    pause = pauses.find_pause(db, agent_id)
    if pause is None or pause.kind != "budget":
        return None if pause is None else pause.reason
    return rules.resume_agent(db, agent_id, by)


def name_budget(agent_id: str) -> str:
    """Return whose budget it is, for a sentence."""
    return agent_id or "all agents together"
