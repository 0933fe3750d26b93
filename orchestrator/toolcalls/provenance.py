"""Decide whether a call needs an approval because of what its turn has read.

A turn that has read private data and text of others may not carry data out on its own. A turn that
has read text of others may not make changes that outlast it: they are drafts until an operator
approves them.

Where: does reading others' text make a call need an approval?
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import taint
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.taint import Taint
from orchestrator.toolcalls.argument_sources import ArgumentSource
from orchestrator.tools.builtin.host_tool import ExtensionTool, HostTool, JournalTool
from orchestrator.tools.remote_tools import RemoteTool
from thinker.protocol.messages import Origin

MAX_SOURCES = 3  # sources that a reason names
KINDS: dict[Origin, str] = {
    "other_user": "text of another person",
    "tool": "text from a tool",
    "web": "text from the web",
}


@dataclass(frozen=True)
class Objection:
    """Why an operator must approve a call, and where its arguments are from, by their paths.

    ``may_stand`` tells whether an approval of all calls alike may be offered: not if what decides
    was read in the turn.
    """

    reason: str
    sources: Mapping[str, ArgumentSource] = field(default_factory=dict)
    may_stand: bool = False


def find_objection(db: Database, call: Call, tool: HostTool | RemoteTool) -> Objection | None:
    """Return why an operator must approve a call, or None if it may run."""
    out, stays = can_carry_data_out(call.name, tool), _changes_later_turns(call, tool)
    out = out and not _is_answer_to_chat(call)
    if not (out or stays):
        return None
    read = taint.load_taint(db, call.turn_id)
    if out and read.has_read_both:
        private = _format_sources(read.private)
        return Objection(
            f"this turn has read private data ({private}) and {_format_untrusted(read)}"
        )
    if stays and read.untrusted:
        return Objection(f"this change would last, and the turn has read {_format_untrusted(read)}")
    return None


def can_carry_data_out(name: str, tool: HostTool | RemoteTool) -> bool:
    """Return whether a call of a tool could carry data out of the conversation."""
    if isinstance(tool, RemoteTool | ExtensionTool):
        return tool.carries
    return name.startswith("send_")


def _is_answer_to_chat(call: Call) -> bool:
    """Return whether a call sends a file to the chat of the turn's reply."""
    return call.name == "send_file" and not call.arguments.get("chat_id")


def _changes_later_turns(call: Call, tool: HostTool | RemoteTool) -> bool:
    return isinstance(tool, JournalTool) and tool.lasts(call.arguments)


def _format_untrusted(read: Taint) -> str:
    """Format the sources of others' text: ``text from the web (fetch)``."""
    kinds = dict.fromkeys(read.untrusted.values())
    sources = {
        kind: _format_sources(k for k, v in read.untrusted.items() if v == kind) for kind in kinds
    }
    return " and ".join(f"{KINDS.get(kind, kind)} ({named})" for kind, named in sources.items())


def _format_sources(sources: Iterable[str]) -> str:
    first, *more = (names := [*sources])[:MAX_SOURCES]
    rest = len(names) - MAX_SOURCES
    return ", ".join((first, *more)) + (f" and {rest} more" if rest > 0 else "")
