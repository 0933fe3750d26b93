"""Changed tools of MCP servers: what was approved, beside what it is now."""

from contextlib import suppress

import anyio
import htpy as h
from pydantic import Field

from orchestrator.control.camel_model import CamelModel
from orchestrator.extensions.page.html.outside_text import strip_terminal_codes
from orchestrator.extensions.page.html.parts import render_diff, render_note
from orchestrator.extensions.page.screen_request import ScreenRequest
from thinker.protocol.peer import PeerClosedError, RpcError

TOOL_PINS = "tools/pins"  # → ChangedTools, from the extension that talks to the servers
TIMEOUT = 2.0  # seconds that the inbox waits for the texts of changed tools
SUSPECT = (
    "A description is read by your agents as an instruction. Approve it only if you expected it."
)


class ToolWording(CamelModel):
    """What a model reads of a tool."""

    description: str
    parameters: str = Field(alias="schema")


class ChangedTool(CamelModel):
    """A tool that waits for an approval of what was ``seen``; without ``old`` nothing is known."""

    name: str
    seen: str
    late: bool = False
    old: ToolWording | None = None
    new: ToolWording | None = None


class ChangedTools(CamelModel):
    """The tools that wait for an approval."""

    tools: tuple[ChangedTool, ...] = ()


async def load_changed_tools(request: ScreenRequest) -> dict[str, ChangedTool]:
    """Return the texts of changed tools by name; none where nothing can tell them now."""
    if request.daemon is None:
        return {}
    with anyio.move_on_after(TIMEOUT), suppress(RpcError, PeerClosedError, TimeoutError):
        found = await request.daemon.ask_daemon(TOOL_PINS, None, ChangedTools)
        return {tool.name: tool for tool in found.tools}
    return {}


def render_change(found: ChangedTool | None) -> h.Node:
    """Render what has become of a tool."""
    if found is None or found.new is None:
        return render_note("Its server does not list it now, so its text cannot be shown.")
    new, old = found.new, found.old
    if old is None:
        why = "It is new." if found.late else "The text that was approved was not kept."
        return [h.p(class_="soft")[why], _render_wording("Now", new.description, new.parameters)]
    same = old.parameters == new.parameters
    return [
        h.div(class_="beside")[
            _render_wording("As it was approved", old.description),
            _render_wording("As it is now", new.description),
        ],
        h.p(class_="soft")["Its parameters are the same." if same else "Its parameters:"],
        None if same else render_diff(old.parameters, new.parameters),
    ]


def _render_wording(title: str, description: str, parameters: str = "") -> h.Element:
    return h.div(class_="result")[
        h.h3[title],
        h.div(class_="text")[strip_terminal_codes(description) or "no description"],
        h.div(class_="text")[strip_terminal_codes(parameters)] if parameters else None,
    ]
