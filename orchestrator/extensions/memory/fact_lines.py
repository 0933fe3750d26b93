"""Facts in words for people: sentence, number, dates, and whose words it has."""

import re

from orchestrator.extensions.memory import fact_dates
from orchestrator.journal.memory.facts import Fact
from thinker.protocol.messages import FROM
from thinker.protocol.visible_text import remove_misleading

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def format_fact_line(fact: Fact, timezone: str, older: int | None = None) -> str:
    """Return a fact as an entry of a list: its sentence and, in parentheses, number and dates.

    ``older`` is the number of one that it may replace. The line begins as the lists do that tools
    show, so that it is removed with them when it is forgotten.
    """
    source = f", from {FROM[fact.origin]}" if fact.origin in FROM else ""
    times = fact_dates.describe_times(fact, timezone)
    replaces = "" if older is None else f", may replace {older}"
    return f"- {format_sentence(fact)} ({fact.id}, {times}{source}{replaces})"


def format_sentence(fact: Fact) -> str:
    """Return a fact's sentence as `clean_sentence` does."""
    return clean_sentence(fact.fact)


def clean_sentence(text: str) -> str:
    """Return text on one line, without controls and signs that hide parts; emoji stay."""
    return " ".join(CONTROLS.sub(" ", remove_misleading(text)).split())
