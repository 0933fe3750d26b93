"""One fact for the terminal: its dates, where it was said, and its versions."""

import textwrap
from collections.abc import Iterator, Sequence

from orchestrator.cli.output import format_minute
from orchestrator.extensions.memory import fact_dates
from orchestrator.extensions.memory.fact_lines import format_fact_line, format_sentence
from orchestrator.extensions.memory.memories import KnownFact
from orchestrator.journal.inspect.message_hits import MessageHit
from orchestrator.journal.memory.facts import Fact
from thinker.protocol.names import format_turn_name

EXCERPT = 500  # characters of the message that says a fact
EVERY = "all chats"  # shown for facts and fields that belong to no chat
UNKNOWN_SOURCE = "The message that says it is not known, or not kept any more."


def describe_fact(
    fact: KnownFact, versions: Sequence[Fact], said: MessageHit | None, older: int | None = None
) -> Iterator[str]:
    """Yield lines about a fact; ``versions`` are its own, newest first, times are in UTC.

    ``older`` is the number of a fact that it may replace.
    """
    about = f" about {fact.subject}: {fact.slot}" if fact.slot else ""
    yield f"fact {fact.id}: {format_sentence(fact)}"
    yield f"agent {fact.agent_id}, {fact.scope or EVERY}"
    yield f"{fact.category}{about}, confidence {fact.confidence:g}, from {fact.origin}"
    replaces = "" if older is None else f", may replace {older}"
    yield f"{fact_dates.describe_times(fact, 'UTC')} (UTC){replaces}"
    yield f"stored {format_minute(fact.created_at / 1000)} by {format_source(fact.source)}"
    if said is None:
        yield UNKNOWN_SOURCE
    else:
        yield f"said {format_minute(said.at / 1000)} in {said.chat_key} by the {said.role}:"
        yield f"  {textwrap.shorten(said.text, EXCERPT, placeholder='…')}"
        if said.turn_id is not None:
            yield f"  orchestrator trace {format_turn_name(said.turn_id)}"
    if len(versions) > 1:
        yield "versions, newest first:"
        yield from (format_fact_line(version, "UTC") for version in versions)


def describe_undo(number: int, fact: KnownFact | None) -> str:
    """Return what has become of a fact whose number was given to an undo."""
    if fact is None:
        return f"fact {number} is gone"
    if fact.ended_by is None:
        return f"fact {fact.id} is known again: {format_sentence(fact)}"
    back = f"orchestrator memory undo {fact.id}"
    return f"fact {fact.id} is forgotten; within a day, {back} brings it back"


def format_source(source: str) -> str:
    """Return the source of a fact; turns as `orchestrator trace` takes them."""
    kind, _, turns = source.partition(" ")
    if kind not in ("turn", "extraction") or not turns:
        return source
    names = dict.fromkeys(format_turn_name(name) for name in turns.split(".."))
    return f"{kind} {'..'.join(names)}"
