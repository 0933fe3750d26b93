"""Facts in words for people: sentence, number, dates, and whose words it has."""

from orchestrator.extensions.memory import fact_dates
from orchestrator.journal.memory.facts import Fact
from thinker.protocol.messages import FROM
from thinker.protocol.visible_text import remove_misleading


def format_fact_line(fact: Fact, timezone: str) -> str:
    """Return a fact as an entry of a list: its sentence and, in parentheses, number and dates.

    It begins as the lists do that tools show, so that it is removed with them when it is forgotten.
    """
    source = f", from {FROM[fact.origin]}" if fact.origin in FROM else ""
    times = fact_dates.describe_times(fact, timezone)
    return f"- {format_sentence(fact)} ({fact.id}, {times}{source})"


def format_sentence(fact: Fact) -> str:
    """Return a fact's sentence on one line, without signs that hide parts of it."""
    return " ".join(remove_misleading(fact.fact).split())
