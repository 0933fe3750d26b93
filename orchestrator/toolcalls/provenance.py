"""Decide whether a call needs an approval because of what its turn has read.

In a turn that has read text of others, what decides where a call goes and what it touches must be
the words of the chat's user or of the operator: the text could have asked for it. A tool that only
reads is held to this once the turn has read private data, too, which its arguments could carry out.
Changes that last are drafts until an operator approves them.

Where: does reading others' text make a call need an approval?
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import read_texts, taint
from orchestrator.journal.turns.read_texts import ReadText
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.taint import Taint
from orchestrator.toolcalls import deciding_arguments, value_forms
from orchestrator.toolcalls.argument_judge import ArgumentJudge, ArgumentJudgement
from orchestrator.toolcalls.argument_sources import ArgumentSource, KnownText
from orchestrator.toolcalls.deciding_arguments import ArgumentLeaf
from orchestrator.tools.builtin.host_tool import ExtensionTool, HostTool, JournalTool
from orchestrator.tools.remote_tools import RemoteTool
from thinker.protocol.messages import Origin, SideEffect

MAX_SOURCES = 3  # sources that a reason names
KINDS: dict[Origin, str] = {
    "other_user": "text of another person",
    "tool": "text from a tool",
    "web": "text from the web",
}
MAX_LISTED = 100_000  # characters of lists, the newest first
MESSAGES = ("send_message", "send_telegram")
MODEL = ArgumentSource("model", decides=True)


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
    lasts = isinstance(tool, JournalTool) and tool.lasts(call.arguments)
    acts = lasts or (acts_outside(call.name, tool) and not _is_message_to_chat(call))
    if _is_answer_to_chat(call) or not (acts or can_carry_data_out(call.name, tool)):
        return None
    read = taint.load_taint(db, call.turn_id)
    if not read.untrusted or not (acts or read.has_read_both):
        return None
    return _judge_call(db, call, tool, read, acts=acts, lasts=lasts)


def _judge_call(
    db: Database, call: Call, tool: HostTool | RemoteTool, read: Taint, *, acts: bool, lasts: bool
) -> Objection | None:
    leaves = _list_leaves(call, tool, reads=not acts)
    if leaves is None:
        return Objection(f"{_format_read(read)}, and the call has too many arguments to judge")
    approved = read_texts.list_approved_calls(db, call.turn_id, call.seq)
    judge = _build_judge(db, call, tool, approved)
    judged = judge.judge_call(leaves, reads=not acts)
    why = ""
    if lasts and not judge.is_all_own(leaves):
        why = f"this change would last, and the turn has read {_format_untrusted(read)}"
    elif judged.foreign:
        paths = ", ".join(dict.fromkeys(path for path, _ in judged.foreign))
        why = f"{_format_read(read)}, and these are not your words: {paths}"
    elif judged.is_vague and not lasts and call.name not in (name for name, _ in approved):
        why = f"{_format_read(read)}, and nothing in the call is what you named"
    if not why:
        return None
    return Objection(
        why, _find_sources(db, call, judged, leaves), may_stand=not (judged.foreign or lasts)
    )


def can_carry_data_out(name: str, tool: HostTool | RemoteTool) -> bool:
    """Return whether a call of a tool could carry data out of the conversation."""
    if isinstance(tool, RemoteTool | ExtensionTool):
        return tool.carries
    return name.startswith("send_")


def acts_outside(name: str, tool: HostTool | RemoteTool) -> bool:
    """Return whether a call of a tool changes or sends something outside the conversation."""
    if isinstance(tool, RemoteTool):
        return tool.acts
    if isinstance(tool, ExtensionTool):
        return tool.carries and tool.spec.side_effect is not SideEffect.PURE
    return name.startswith("send_")


def _is_message_to_chat(call: Call) -> bool:
    """Return whether a call sends a message to the chat of the turn's reply."""
    return call.name in MESSAGES and not call.arguments.get("chat_id")


def _is_answer_to_chat(call: Call) -> bool:
    """Return whether a call sends a file to the chat of the turn's reply."""
    return call.name == "send_file" and not call.arguments.get("chat_id")


def _list_leaves(
    call: Call, tool: HostTool | RemoteTool, *, reads: bool
) -> Sequence[ArgumentLeaf] | None:
    """Return a call's values; what a tool that ``reads`` is asked decides, whatever its name."""
    told = tool.arguments if isinstance(tool, RemoteTool) else {}
    found = deciding_arguments.list_leaves(call.arguments, tool.spec.parameters, told)
    if found is None or not reads:
        return found
    return [one if one.nature == "choice" else one._replace(nature="decides") for one in found]


def _build_judge(
    db: Database, call: Call, tool: HostTool | RemoteTool, approved: Iterable[tuple[str, str]]
) -> ArgumentJudge:
    granted = [
        str(leaf.value)
        for _, arguments in approved
        for leaf in deciding_arguments.list_leaves(orjson.loads(arguments), {}, {}) or ()
        if leaf.nature == "decides"
    ]
    user = KnownText(read_texts.list_user_texts(db, call.turn_id))
    operator = KnownText([*granted, *read_texts.list_operator_texts(db, call.turn_id)])
    if not isinstance(tool, RemoteTool):
        return ArgumentJudge(call.name, user, operator)

    def iter_results(names: Collection[str]) -> Iterator[tuple[str, str]]:
        room = MAX_LISTED
        for one in read_texts.iter_read_texts(db, call.turn_id) if names else ():
            if one.name in names and (room := room - len(one.text)) >= 0:
                yield one.name, one.text

    return ArgumentJudge(
        tool.tool,
        user,
        operator,
        directories=lambda: iter_results(tool.directories),
        records=lambda: iter_results(tool.siblings),
    )


def _find_sources(
    db: Database, call: Call, judged: ArgumentJudgement, leaves: Iterable[ArgumentLeaf]
) -> dict[str, ArgumentSource]:
    """Return where a call's values are from; those that the user did not write are looked for."""
    read = [*read_texts.iter_read_texts(db, call.turn_id)]
    plain = [value_forms.normalize_text(one.text) for one in read]
    sources = dict(judged.sources)
    content = ((leaf.path, str(leaf.value)) for leaf in leaves if leaf.nature == "content")
    decides = {path for path, _ in judged.foreign}
    for path, value in (*judged.foreign, *content):
        wanted = value_forms.normalize_text(value.strip())
        at = next((n for n, text in enumerate(plain) if wanted in text), None)
        found = MODEL if at is None else _build_source(read[at])
        if path not in sources or found is not MODEL:
            sources[path] = found._replace(decides=path in decides)
    return sources


def _build_source(read: ReadText) -> ArgumentSource:
    kind = read.origin if read.origin in ("web", "other_user") else "tool"
    name = read.name
    if kind == "web":
        address = orjson.loads(read.arguments).get("url")
        name = (urlsplit(address).hostname or name) if isinstance(address, str) else name
    return ArgumentSource(kind, name)


def _format_read(read: Taint) -> str:
    """Format what a turn has read: ``this turn has read text from the web (fetch)``."""
    private = f"private data ({_format_sources(read.private)}) and " if read.has_read_both else ""
    return f"this turn has read {private}{_format_untrusted(read)}"


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
