"""The chat commands about money: what was used, what it will come to, and more for today."""

import re
from collections.abc import Iterator, Mapping

from orchestrator.extensions.spending_advice import budget_questions, outlook, spending_sums
from orchestrator.extensions.spending_advice.raised_budgets import MAX_EXTENSION, name_budget
from orchestrator.inbound.commands import ChatCommand, ChatCommandEntry, find_agent_here
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import usage
from orchestrator.journal.turns.usage import SHARED
from orchestrator.spending import budgets
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.timezones import load_zone_or_utc

HOW = "Write /budget, or for example /budget extend 2, or /budget extend 2 AGENT."
NO_BUDGET = "No budget is set: see the manual's page budgets, or agents.json."
_DECISION = re.compile(r"(yes|no) ([0-9a-f]+)")
_EXTENSION = re.compile(r"extend \$?(\d{1,4}(?:\.\d{1,6})?)(?: (\S+))?")


def describe_usage(db: Database, rules: SpendingRules) -> str:
    """Return a line for each agent, with tokens and cost of today and of seven days."""
    lines: list[str] = []
    unknown: dict[str, None] = {}
    for definition in rules.agents.agents:
        zone = load_zone_or_utc(definition.timezone, rules.environ)
        periods = []
        for days, period in ((0, "today"), (6, "in 7 days")):
            since = budgets.find_midnight_before(days, rules.clock(), zone)
            spent = usage.sum_spending(db, definition.agent_id, since)
            unpriced = spending_sums.count_unpriced_calls(db, definition.agent_id, since)
            unknown |= dict.fromkeys(unpriced)
            money = budgets.format_cost(spent.usd, unknown=bool(unpriced))
            periods.append(f"{spent.tokens:,} tokens ({money}) {period}")
        lines.append(f"{definition.agent_id}: {', '.join(periods)}")
    lines += _iter_limits(db, rules, SHARED)
    lines.append(f"forecast: {outlook.forecast_agent(db, rules, SHARED).text}")
    if unknown:
        lines.append(budgets.describe_missing_prices(tuple(unknown)))
    return "\n".join(lines)


def describe_chat_usage(db: Database, rules: SpendingRules, key: str) -> str:
    """Return tokens and cost of a chat, today and in seven days."""
    zone, periods = load_zone_or_utc(None, rules.environ), []
    for days, period in ((0, "today"), (6, "in 7 days")):
        since = budgets.find_midnight_before(days, rules.clock(), zone)
        spent, unpriced = spending_sums.sum_chat_spending(db, key, since)
        money = budgets.format_cost(spent.usd, unknown=unpriced)
        periods.append(f"{spent.tokens:,} tokens ({money}) {period}")
    return f"this chat: {', '.join(periods)}"


def describe_budgets(db: Database, rules: SpendingRules) -> str:
    """Return a line for each limit, and a forecast of each budget."""
    lines = []
    for name in (SHARED, *(agent.agent_id for agent in rules.agents.agents)):
        limits = list(_iter_limits(db, rules, name))
        if limits:
            text = outlook.forecast_agent(db, rules, name).text
            lines += [*limits, f"{name_budget(name)}, forecast: {text}"]
    return "\n".join(lines) or NO_BUDGET


def _iter_limits(db: Database, rules: SpendingRules, agent_id: str) -> Iterator[str]:
    for limits, spent in rules.iter_spent(db, agent_id):
        parts = []
        if limits.usd is not None:
            parts.append(f"${spent.usd:.2f} of ${limits.usd:.2f}")
        if limits.tokens is not None:
            parts.append(f"{spent.tokens:,} of {limits.tokens:,} tokens")
        yield f"{name_budget(agent_id)}, this {limits.name.lower()}: {', '.join(parts)}"


def _answer_usage(db: Database, command: ChatCommand) -> str:
    if command.role != "operate":
        return describe_chat_usage(db, command.rules, command.chat_key)
    return describe_usage(db, command.rules)


def _answer_budget(db: Database, command: ChatCommand) -> str:
    rules, words = command.rules, " ".join(command.argument.split())
    if not words:
        return describe_budgets(db, rules)
    decided = _DECISION.fullmatch(words)
    if decided is not None:
        extend = decided[1] == "yes"
        return budget_questions.answer_question(
            db, rules, decided[2], command.sender, extend=extend
        )
    asked = _EXTENSION.fullmatch(words)
    if asked is None or not 0 < float(asked[1]) <= MAX_EXTENSION:
        return HOW
    shared = rules.agents.budget is not None and rules.agents.budget.is_in_dollars
    whose = asked[2] or (SHARED if shared else find_agent_here(db, command) or "")
    return budget_questions.extend_by_chat(db, rules, whose, float(asked[1]), command.sender)


COMMANDS: Mapping[str, ChatCommandEntry] = {
    "usage": ChatCommandEntry(
        "tokens and cost of today and of the last seven days, and a forecast",
        "talk",
        _answer_usage,
    ),
    "budget": ChatCommandEntry(
        "limits and forecasts; extend USD AGENT (default: of all agents): more until midnight",
        "operate",
        _answer_budget,
    ),
}
