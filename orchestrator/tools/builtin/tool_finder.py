"""find_tools: find tools that are not offered, by name or by words."""

import re

from orchestrator.journal.db.database import Database
from orchestrator.tools.builtin.host_tool import ToolContext, ToolFailure, journal_tool
from thinker.protocol.messages import JsonObject, SideEffect, ToolSpec

MAX_FOUND = 8  # tools found by words
STEM = 5  # letters of a word that are compared
WORD = re.compile(r"[^\W_]{3,}")


@journal_tool(
    "Get more tools, offered from the next step on. Before you say that you cannot do something,"
    " look for a tool. There are:",  # the worker adds their names
    {"names": "Some of these names, or English words for what you need."},
    ["names"],
    side_effect=SideEffect.PURE,
)
def find_tools(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    del db
    asked, tools = str(arguments.get("names")), context.offered or ()
    named = set(re.findall(r"[\w-]+", asked))
    found = [tool.name for tool in tools if tool.name in named] or _rank_fitting_tools(tools, asked)
    if not found:
        raise ToolFailure("no tool fits these words; try others, or do without a tool")
    return "\n".join(("Offered now:", *(f"- {name}" for name in found)))


def _rank_fitting_tools(tools: tuple[ToolSpec, ...], asked: str) -> list[str]:
    """Return the names of the tools that share most words with ``asked``."""
    stems = {word[:STEM] for word in WORD.findall(asked.lower())}
    shared = {
        tool.name: len(stems & {word[:STEM] for word in WORD.findall(tool.embedding_text.lower())})
        for tool in tools
    }
    fitting = [name for name, count in shared.items() if count]
    return sorted(fitting, key=lambda name: (-shared[name], name))[:MAX_FOUND]
