"""store_fact and search_memories: what an agent keeps about its user."""

import apsw

from orchestrator.hosttools.base import JournalTool, ToolContext, ToolFailure, spec, text
from orchestrator.journal import memory
from thinker.protocol.messages import JsonObject, SideEffect

MAX_FACT = 2000  # characters
FOUND = 10


def _store(db: apsw.Connection, context: ToolContext, arguments: JsonObject) -> str:
    fact, category = text(arguments, "fact"), text(arguments, "category", "background").lower()
    if not fact:
        raise ToolFailure("fact is empty; write the fact as one sentence")
    if len(fact) > MAX_FACT:
        raise ToolFailure(f"a fact has at most {MAX_FACT} characters; store it in parts")
    if category not in memory.CATEGORIES:
        raise ToolFailure(f"category must be one of {', '.join(memory.CATEGORIES)}")
    new = memory.store(db, context.agent_id, fact, category, "tool", context.now)
    return f"{'Stored' if new else 'Known already'}: {fact} ({category})"


def _search(db: apsw.Connection, context: ToolContext, arguments: JsonObject) -> str:
    found = memory.search(db, context.agent_id, text(arguments, "query"), FOUND)
    if not found:
        return "No memories match."
    return "\n".join(f"- {item.fact} ({item.category})" for item in found)


STORE_FACT = JournalTool(
    spec(
        "store_fact",
        "Remember a fact about the user for later conversations.",
        {
            "fact": "The fact as one complete sentence.",
            "category": f"One of {', '.join(memory.CATEGORIES)}.",
        },
        ["fact"],
        side_effect=SideEffect.LOCAL_TX,
    ),
    _store,
)
SEARCH_MEMORIES = JournalTool(
    spec(
        "search_memories",
        "Search what is remembered about the user.",
        {"query": "Words to look for."},
        ["query"],
        side_effect=SideEffect.PURE,
    ),
    _search,
)
