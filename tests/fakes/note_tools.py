"""Small tools beside those of the core, whose tests need no extension then."""

from types import MappingProxyType

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import subagents
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.subagents import SubagentSpec
from orchestrator.tools.builtin.host_tool import (
    DelegatingTool,
    ToolContext,
    ToolFailure,
    assume_lasting,
    build_tool_spec,
    journal_tool,
    plain_tool,
    read_text_argument,
)
from orchestrator.tools.host_tools import list_own_tools
from thinker.protocol.messages import JsonObject, SideEffect


@journal_tool("Keep a note.", {"note": ""}, ["note"], aliases=frozenset({"text"}))
def keep_note(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    """Keep it among what the journal knows of itself; a second time is an error."""
    note = read_text_argument(arguments, "note")
    if not note:
        raise ToolFailure("note is empty")
    db.execute("INSERT INTO meta VALUES(?, ?)", (f"note {note}", context.source))
    return f"Kept: {note}"


@journal_tool(
    "List the notes.",
    {"limit": {"type": "integer"}, "before": ""},
    side_effect=SideEffect.PURE,
    private=True,
)
def list_notes(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    """Show how many there are."""
    del context, arguments
    return f"{count_notes(db)} notes"


@journal_tool("Get the newest note.", {}, side_effect=SideEffect.PURE)
def get_note(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    """Return an empty object, as a check without news does."""
    del db, context, arguments
    return "{}"


@journal_tool("Erase a note.", {"note": ""}, ["note"], lasts=assume_lasting)
def erase_note(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    """Fail: no note has this name."""
    del db, context
    raise ToolFailure(f"there is no note {arguments.get('note')!r}")


@plain_tool("Read a note.", {"name": "", "page": ""}, ["name"])
async def read_note(context: ToolContext, arguments: JsonObject) -> str:
    """Read from outside the journal."""
    return await context.off_loop(str, arguments.get("name"))


def _ask_clerk(db: Database, context: ToolContext, call: Call) -> str | None:
    task = read_text_argument(call.arguments, "task")
    clerk = subagents.create(db, call, context.agent_id, SubagentSpec(), context.now)
    wait = call.arguments.get("wait") is not False
    subagents.begin_run(db, call, clerk, context.address, task, context.now, wait=wait)
    return None if wait else f"Asked {clerk}."


ask_clerk = DelegatingTool(
    build_tool_spec("ask_clerk", "Ask.", {"task": "", "wait": {"type": "boolean"}}, ["task"]),
    _ask_clerk,
)


def count_notes(db: Database) -> int:
    """Return how many notes were kept."""
    return int(str(db.execute("SELECT count(*) FROM meta WHERE k LIKE 'note %'").get))


_EVERY = keep_note, list_notes, get_note, erase_note, read_note, ask_clerk
NOTE_TOOLS = MappingProxyType({tool.spec.name: tool for tool in _EVERY})
TOOLS = MappingProxyType({**list_own_tools(), **NOTE_TOOLS})
