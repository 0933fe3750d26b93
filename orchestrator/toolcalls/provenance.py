"""Why a call needs an approval because of what its turn has read.

A turn that has read private data and text of others may not carry data out on its own. A turn that
has read text of others may not make changes that outlast it: they are drafts until an operator
approves them.
"""

from collections.abc import Iterable

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import profile
from orchestrator.journal.memory.profile import ProfileError
from orchestrator.journal.turns import taint
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.taint import Taint
from orchestrator.tools.builtin.host_tool import HostTool
from orchestrator.tools.mcp.mcp_tools import McpTool
from thinker.protocol.messages import JsonObject, Origin

SHOWN = 3  # sources that a reason names
STANDING = frozenset(
    (
        "store_skill",
        "update_skill",
        "delete_skill",
        "schedule_task",
        "cancel_task",
        "update_fact",
        "delete_fact",
    )
)
KINDS: dict[Origin, str] = {
    "other_user": "text of another person",
    "tool": "text from a tool",
    "web": "text from the web",
}


def objection(db: Database, call: Call, tool: HostTool | McpTool) -> str | None:
    """Return why an operator must approve a call, or None if it may run."""
    out, stays = carries(call.name, tool), standing(call.name, call.arguments)
    out = out and not _answers(call)
    if not (out or stays):
        return None
    read = taint.load(db, call.turn_id)
    if out and read.both:
        private = _listed(read.private)
        return f"this turn has read private data ({private}) and {_untrusted(read)}"
    if stays and read.untrusted:
        return f"this change would last, and the turn has read {_untrusted(read)}"
    return None


def carries(name: str, tool: HostTool | McpTool) -> bool:
    """Return whether a call of a tool could carry data out of the conversation."""
    return tool.carries if isinstance(tool, McpTool) else name.startswith("send_")


def _answers(call: Call) -> bool:
    """Return whether a call sends a file to where the turn's reply goes too."""
    return call.name == "send_file" and not call.arguments.get("chat_id")


def standing(name: str, arguments: JsonObject) -> bool:
    """Return whether a call of a built-in tool makes a change that later turns follow."""
    if name != "update_profile":
        return name in STANDING
    try:
        return arguments.get("value") is None or profile.touches_prompt(str(arguments.get("path")))
    except ProfileError:
        return False  # the call fails anyway


def _untrusted(read: Taint) -> str:
    """Name the texts of others: ``text from the web (fetch)``."""
    kinds = dict.fromkeys(read.untrusted.values())
    return " and ".join(
        f"{KINDS.get(kind, kind)} ({_listed(k for k, v in read.untrusted.items() if v == kind)})"
        for kind in kinds
    )


def _listed(sources: Iterable[str]) -> str:
    first, *more = (names := [*sources])[:SHOWN]
    rest = len(names) - SHOWN
    return ", ".join((first, *more)) + (f" and {rest} more" if rest > 0 else "")
