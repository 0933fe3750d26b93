"""Tools for facts about the user."""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts
from orchestrator.journal.memory.facts import Fact, RefusedFactError
from orchestrator.tools.builtin.host_tool import (
    ToolContext,
    ToolFailure,
    journal_tool,
    mark_quoted_text,
    plain_tool,
    read_number_argument,
    read_text_argument,
)
from thinker.protocol.messages import JsonObject, SideEffect

MAX_FACT = 2000  # characters
DEFAULT_FOUND = 10  # results of a search by default
DEFAULT_PAGE = 30  # facts on a page of list_facts by default
MAX_PAGE = 100  # results or facts at most

CATEGORY = f"One of {', '.join(facts.CATEGORIES)}."
CONFIDENCE: JsonObject = {"type": "number", "description": "0 to 1; 1 if the user said so."}
FACT_ID: JsonObject = {"type": "integer", "description": "As lists show it."}


@journal_tool(
    "Remember a fact about the user for later conversations.",
    {"fact": "One complete sentence.", "category": CATEGORY, "confidence": CONFIDENCE},
    ["fact"],
)
def store_fact(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    fact, category = _read_fact(arguments, ""), _read_category(arguments) or "background"
    confidence = read_number_argument(arguments, "confidence", 1.0, 0, 1)
    try:
        stored = facts.store_fact(
            db,
            context.memory,
            fact,
            category,
            context.source,
            context.now,
            confidence,
            context.origin,
        )
    except RefusedFactError as error:
        raise ToolFailure(str(error)) from error
    known = f"{'Stored' if stored.new else 'Known already'}: {fact} ({category}, id {stored.id})"
    if not stored.similar:
        return known
    similar = "\n".join(_format_fact(other) for other in stored.similar)
    return _mark_fact_text(
        f"{known}\nSimilar facts were known; update or delete one if both say the same:\n{similar}",
        stored.similar,
    )


@plain_tool("Search the facts remembered about the user.", {"query": ""}, ["query"], private=True)
async def search_memories(context: ToolContext, arguments: JsonObject) -> str:
    query, memory = read_text_argument(arguments, "query"), context.memory
    meaning = await context.meaning(query)
    found = await context.store.transact(
        facts.search_facts, memory, query, DEFAULT_FOUND, facts.FOREVER, meaning
    )
    return _mark_fact_text(
        "\n".join(_format_fact(fact) for fact in found) or "No memories match.", found
    )


@journal_tool(
    "List all facts remembered about the user, newest first.",
    {
        "category": CATEGORY,
        "limit": {"type": "integer", "description": f"Default {DEFAULT_PAGE}."},
        "before_id": {"type": "integer", "description": "Show only older ones than this id."},
    },
    side_effect=SideEffect.PURE,
    keywords="facts, memories, know about me, remember about me, remembered",
    private=True,
)
def list_facts(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    limit = int(read_number_argument(arguments, "limit", DEFAULT_PAGE, 1, MAX_PAGE))
    before = int(read_number_argument(arguments, "before_id", facts.FOREVER, 1, facts.FOREVER))
    found = facts.list_newest_facts(
        db, context.memory, _read_category(arguments), before, limit + 1
    )
    lines = [_format_fact(fact) for fact in found[:limit]]
    if len(found) > limit:
        lines.append(f"There are older ones: call again with before_id {found[limit - 1].id}.")
    return _mark_fact_text("\n".join(lines) or "No facts are stored.", found[:limit])


@journal_tool(
    "Correct or change a remembered fact.",
    {
        "id": FACT_ID,
        "fact": "One complete sentence.",
        "category": CATEGORY,
        "confidence": CONFIDENCE,
    },
    ["id"],
    keywords="fact, facts, correct, wrong, no longer, not anymore, outdated, change what you know",
)
def update_fact(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    old = _require_fact(db, context, arguments)
    new = replace(
        old,
        fact=_read_fact(arguments, old.fact),
        category=_read_category(arguments) or old.category,
        confidence=read_number_argument(arguments, "confidence", old.confidence, 0, 1),
        source=context.source,
        origin=context.origin,
    )
    try:
        facts.update_fact(db, context.memory, new, context.now)
    except RefusedFactError as error:
        raise ToolFailure(str(error)) from error
    return f"Updated: {_format_fact(new)[2:]}"


@journal_tool(
    "Forget a remembered fact.", {"id": FACT_ID}, ["id"], keywords="forget, fact, facts, memories"
)
def delete_fact(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    old = _require_fact(db, context, arguments)
    facts.delete_fact(db, context.memory, old.id)
    return f"Deleted: {old.fact}"


def _mark_fact_text(text: str, shown: Sequence[Fact]) -> str:
    """Return text with facts, marked if one came from others."""
    return mark_quoted_text(text, (fact.origin for fact in shown))


def _read_fact(arguments: JsonObject, default: str) -> str:
    fact = read_text_argument(arguments, "fact", default)
    if not fact:
        raise ToolFailure("fact is empty; write the fact as one sentence")
    if len(fact) > MAX_FACT:
        raise ToolFailure(f"a fact must have at most {MAX_FACT} characters; store it in parts")
    return fact


def _read_category(arguments: JsonObject) -> str | None:
    category = read_text_argument(arguments, "category").lower()
    if category and category not in facts.CATEGORIES:
        raise ToolFailure(f"category must be one of {', '.join(facts.CATEGORIES)}")
    return category or None


def _require_fact(db: Database, context: ToolContext, arguments: JsonObject) -> Fact:
    fact_id = int(read_number_argument(arguments, "id", 0, 0, facts.FOREVER))
    found = facts.find_fact(db, context.memory, fact_id)
    if found is None:
        raise ToolFailure(f"there is no fact {fact_id}; take its id from list_facts")
    return found


def _format_fact(fact: Fact) -> str:
    confidence = "" if fact.confidence == 1 else f", confidence {fact.confidence:g}"
    return f"- {fact.fact} ({fact.category}{confidence}, id {fact.id})"
