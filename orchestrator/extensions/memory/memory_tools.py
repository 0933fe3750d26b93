"""Tools for facts about the user."""

from collections.abc import Sequence

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.memory import fact_changes, fact_dates, fact_reads, learned_changes
from orchestrator.extensions.memory.fact_changes import RefusedFactError, Statement
from orchestrator.extensions.memory.fact_lines import format_sentence
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts
from orchestrator.journal.memory.facts import Fact
from orchestrator.tools.builtin.host_tool import (
    ToolContext,
    ToolFailure,
    assume_lasting,
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
SUBJECT = "Whom it is about; default: user."
SLOT = "Of what it is the one value, such as home city or employer."
SINCE = "Since when it is true: YYYY-MM-DD, YYYY-MM or YYYY."


@journal_tool(
    "Remember a fact about the user for later conversations.",
    {
        "fact": "One complete sentence.",
        "category": CATEGORY,
        "confidence": CONFIDENCE,
        "subject": SUBJECT,
        "slot": SLOT,
        "since": SINCE,
    },
    ["fact"],
)
def store_fact(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    statement = _read_statement(context, arguments)
    try:
        stored = fact_changes.store_statement(db, context.memory, statement, context.now)
    except RefusedFactError as error:
        raise ToolFailure(str(error)) from error
    if stored is None:  # only what is found in conversations stays forgotten
        raise ToolFailure("this was forgotten; it is not stored again")
    about = f"{statement.fact} ({statement.category}, id {stored.id})"
    known = f"{'Stored' if stored.new else 'Known already'}: {about}"
    if not stored.similar:
        return known
    similar = "\n".join(_format_fact(other, context) for other in stored.similar)
    return _mark_fact_text(
        f"{known}\nOlder facts on this. If one is no longer true, call update_fact with its id and"
        f" the new sentence:\n{similar}",
        stored.similar,
    )


@plain_tool("Search the facts remembered about the user.", {"query": ""}, ["query"], private=True)
async def search_memories(context: ToolContext, arguments: JsonObject) -> str:
    query, memory = read_text_argument(arguments, "query"), context.memory
    meaning = await context.meaning(query)
    title = ""
    found = await context.store.search(
        fact_reads.find_facts, memory, query, DEFAULT_FOUND, context.now, meaning
    )
    if not found:
        title = "No memory has these words; the newest:\n"
        found = await context.store.read(
            fact_reads.list_newest_facts, memory, None, facts.FOREVER, DEFAULT_FOUND, context.now
        )
    older = await context.store.read(learned_changes.find_older_facts, memory, found)
    lines = [_format_fact(fact, context, older.get(fact.id)) for fact in found]
    return _mark_fact_text(title + "\n".join(lines) if lines else "No memories match.", found)


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
    found = fact_reads.list_newest_facts(
        db, context.memory, _read_category(arguments), before, limit + 1, context.now
    )
    older = learned_changes.find_older_facts(db, context.memory, found)
    lines = [_format_fact(fact, context, older.get(fact.id)) for fact in found[:limit]]
    if len(found) > limit:
        lines.append(f"There are older ones: call again with before_id {found[limit - 1].id}.")
    return _mark_fact_text("\n".join(lines) or "No facts are stored.", found[:limit])


@journal_tool(
    "Replace a remembered fact by what is true now; the old one is kept as history.",
    {
        "id": FACT_ID,
        "fact": "One complete sentence.",
        "category": CATEGORY,
        "confidence": CONFIDENCE,
        "subject": SUBJECT,
        "slot": SLOT,
        "since": SINCE,
    },
    ["id"],
    keywords="fact, facts, correct, wrong, no longer, not anymore, outdated, change what you know",
    lasts=assume_lasting,
)
def update_fact(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    old = _require_fact(db, context, arguments)
    statement = _read_statement(context, arguments, old)
    try:
        stored = fact_changes.replace_fact(db, context.memory, old.id, statement, context.now)
    except OrchestratorError as error:
        raise ToolFailure(str(error)) from error
    new = facts.find_fact(db, context.memory, stored.id) or old
    changed = "" if stored.id == old.id else f"\nUntil then: {old.fact} (id {old.id})"
    return f"Updated: {_format_fact(new, context)[2:]}{changed}"


@journal_tool(
    "Forget a remembered fact.",
    {"id": FACT_ID},
    ["id"],
    keywords="forget, fact, facts, memories",
    lasts=assume_lasting,
)
def delete_fact(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    old = _require_fact(db, context, arguments)
    try:
        fact_changes.forget_fact(
            db, context.memory, old.id, "agent", context.now, for_good=False, origin=context.origin
        )
    except RefusedFactError as error:
        raise ToolFailure(str(error)) from error
    return f"Deleted: {old.fact} (id {old.id}; the user can undo it for a day)"


def _mark_fact_text(text: str, shown: Sequence[Fact]) -> str:
    """Return text with facts, marked if one came from others."""
    return mark_quoted_text(text, (fact.origin for fact in shown))


def _read_statement(
    context: ToolContext, arguments: JsonObject, old: Fact | None = None
) -> Statement:
    """Return the statement that arguments make; what they leave out is as in the old fact."""
    fact = read_text_argument(arguments, "fact", old.fact if old else "")
    if not fact:
        raise ToolFailure("fact is empty; write the fact as one sentence")
    if len(fact) > MAX_FACT:
        raise ToolFailure(f"a fact must have at most {MAX_FACT} characters; store it in parts")
    since = read_text_argument(arguments, "since")
    begins = fact_dates.parse_day(since, context.timezone) if since else None
    if since and begins is None:
        raise ToolFailure("since must be a date: YYYY-MM-DD, YYYY-MM or YYYY")
    return Statement(
        fact=fact,
        category=_read_category(arguments) or (old.category if old else "background"),
        source=context.source,
        confidence=read_number_argument(
            arguments, "confidence", old.confidence if old else 1.0, 0, 1
        ),
        origin=context.origin,
        valid_from=begins,
        subject=read_text_argument(arguments, "subject"),
        slot=read_text_argument(arguments, "slot"),
    )


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


def _format_fact(fact: Fact, context: ToolContext, older: int | None = None) -> str:
    """Return a line for a fact; ``older`` is the number of one that it may replace."""
    confidence = "" if fact.confidence == 1 else f", confidence {fact.confidence:g}"
    times = fact_dates.describe_times(fact, context.timezone)
    replaces = "" if older is None else f", may replace {older}"
    return (
        f"- {format_sentence(fact)} ({fact.category}{confidence}, id {fact.id}, {times}{replaces})"
    )
