"""Show what has become of the tools of MCP servers since their approval: old beside new.

Where: is a changed MCP tool shown as it was and as it is?
"""

import difflib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping

from pydantic import Field, ValidationError

from orchestrator.control.camel_model import CamelModel
from orchestrator.extensions.mcp_client.tool_lists import TOOLS, load_tool_lists
from orchestrator.extensions.mcp_client.toolhost.wire import ServerTool
from orchestrator.journal.access.tool_pins import LATER
from orchestrator.journal.db.database import Database

TOOL_PINS = "tools/pins"  # → ToolChanges
MAX_KEPT = 64 * 1024  # characters of a definition; few tools have a twentieth of that
MAX_SHOWN = 20_000  # characters of a description, and of a schema
MAX_TOOLS = 200  # that are shown together
CUT = "\n[cut: {left} more characters]"


class ToolText(CamelModel):
    """What a model reads of a tool; ``parameters`` is its JSON Schema, set out in lines."""

    description: str
    parameters: str = Field(alias="schema")


class ToolChange(CamelModel):
    """A tool that waits for an approval, which needs ``seen``; ``at`` in seconds.

    ``late`` says that its server added it after the others. Without ``old``, the tool is late, or
    was approved by a version that kept no definitions. Without ``new``, its server has not listed
    it since.
    """

    name: str
    late: bool
    by: str
    at: float
    seen: str
    old: ToolText | None = None
    new: ToolText | None = None


class ToolChanges(CamelModel):
    """The tools that wait for an approval."""

    tools: tuple[ToolChange, ...]


def keep_definitions(
    db: Database, server: str, tools: Mapping[str, ServerTool], trusted: Collection[str]
) -> None:
    """Keep the definitions of trusted tools that have none, to show them after a change."""
    rows = db.execute(
        "SELECT tool, sha256 FROM tool_pin WHERE server = ? AND definition IS NULL", (server,)
    ).fetchall()
    for name, digest in rows:
        tool = tools.get(str(name))
        if tool is not None and tool.digest == digest and digest in trusted:
            text = tool.model_dump_json()
            db.execute(
                "UPDATE tool_pin SET definition = ? WHERE server = ? AND tool = ?",
                (text if len(text) <= MAX_KEPT else "", server, name),
            )


def load_changes(db: Database) -> ToolChanges:
    """Return the tools that wait for an approval, as they were and as they are."""
    rows = db.execute(
        "SELECT server, tool, sha256, changed, definition, by, at FROM tool_pin"
        " WHERE changed IS NOT NULL OR by = ? ORDER BY server, tool LIMIT ?",
        (LATER, MAX_TOOLS),
    ).fetchall()
    lists = load_tool_lists(db) if rows else {}
    known = {server: _parse_tools(tools) for server, tools in lists.items()}
    return ToolChanges(
        tools=tuple(
            ToolChange(
                name=f"{server}/{tool}",
                late=changed is None,
                by=by,
                at=at / 1000,
                seen=changed or digest,
                old=None if changed is None else _parse_kept(definition),
                new=_describe_tool(known.get(server, {}).get(changed or digest)),
            )
            for server, tool, digest, changed, definition, by, at in rows
        )
    )


def format_change(change: ToolChange) -> Iterator[str]:
    """Yield the lines of a change, like ``diff -u``; for a tool of unknown past all of it."""
    if change.late:
        yield f"{change.name} was added by its server after the others:"
    elif change.old is None:
        yield f"{change.name} has changed; what was approved is not recorded. It is now:"
    else:
        yield f"{change.name} has changed:"
    if change.new is None:
        yield "  its server does not list it now"
    old, new = _list_lines(change.old), _list_lines(change.new)
    changed = list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:]
    yield from (f"  {line}" for line in changed if not line.startswith("@@"))


def _list_lines(text: ToolText | None) -> list[str]:
    return [] if text is None else [*text.description.splitlines(), *text.parameters.splitlines()]


def _parse_tools(text: str) -> Mapping[str, ServerTool]:
    """Return the tools of a list by their digests; none if another version wrote it."""
    try:
        tools: Iterable[ServerTool] = TOOLS.validate_json(text)
    except ValidationError:
        return {}
    return {tool.digest: tool for tool in tools}


def _parse_kept(text: str | None) -> ToolText | None:
    try:
        return _describe_tool(ServerTool.model_validate_json(text)) if text else None
    except ValidationError:
        return None


def _describe_tool(tool: ServerTool | None) -> ToolText | None:
    if tool is None:
        return None
    schema = json.dumps(tool.parameters, ensure_ascii=False, indent=2)
    return ToolText(description=_cut_text(tool.description), parameters=_cut_text(schema))


def _cut_text(text: str) -> str:
    left = len(text) - MAX_SHOWN
    return text if left <= 0 else text[:MAX_SHOWN] + CUT.format(left=left)
