"""Format a question: exactly what its calls will do, in a form that no argument can forge.

Text of a model or a tool server appears in a code block, each value on one line as JSON without
control characters, hidden characters or long gaps. So no value can look like another line, end the
block, or be formatted away. Where a value is from stands behind it, at the end of its line.

Where: are the exact arguments of calls shown for approval?
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from orchestrator import chat_texts
from orchestrator.chat_texts import format_on_one_line
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.outbox import Address
from orchestrator.toolcalls.alike_calls import AlikeCalls, group_alike_calls
from orchestrator.tools.builtin.host_tool import ExtensionTool, HostTool
from orchestrator.tools.remote_tools import RemoteTool
from thinker.protocol.messages import JsonObject, ToolCall

# Lengths are in UTF-16 code units, in which Telegram counts; the whole fits one message.
MAX_ARGUMENTS = 1_600  # of the arguments of all calls
MAX_VALUE = 100  # of a value that was changed
MAX_CHANGES = 5  # changed values that are shown
REASON = 300
MAX_REASONS = 3  # each of its share of REASON
MAX_FREE = 200  # of the names of calls that need no approval
BUILT_IN = "built in"
REPAIRED = "repaired: the model wrote broken JSON, and this is how it was read"


class AskedCall(NamedTuple):
    """A call in question: its approval, its tool, and how the model wrote it.

    ``fixed`` are the arguments that the prompt's definition sets.
    """

    approval: Approval
    tool: HostTool | RemoteTool
    written: ToolCall | None = None
    fixed: Mapping[str, object] = {}

    @property
    def arguments(self) -> JsonObject:
        found: JsonObject = json.loads(self.approval.arguments)
        return found


class QuestionScene(NamedTuple):
    """What else a question shows.

    ``address`` is the chat of the calls, which tools write to unless told otherwise. ``asker`` is
    how the author of the chat's messages is called. ``free`` are the tools of the calls that the
    model plans with these and that need no approval. ``others`` are further answers, as chat
    commands by what they do.
    """

    address: Address
    asker: str = "the user"
    free: Sequence[str] = ()
    others: Mapping[str, str] = {}


def format_question(asked: Sequence[AskedCall], scene: QuestionScene) -> str:
    """Return the Markdown of a question about calls."""
    first = asked[0].approval
    until = datetime.fromtimestamp(first.expires / 1000, UTC)
    alone = len(asked) == 1
    facts = [
        *([f"tool: {_name_tool(asked[0])}"] if alone else ()),
        f"agent: {format_on_one_line(first.agent_id)}",
        f"chat: {format_on_one_line(scene.address.name)}",
        *_iter_call_lines(asked, scene.asker),
        *_iter_changes(asked),
        *_iter_reasons(asked),
        *_iter_free_calls(scene.free),
        f"until: {until:%Y-%m-%d %H:%M} UTC",
    ]
    asks = chat_texts.APPROVAL if alone else chat_texts.APPROVAL_OF_ALL
    others = "".join(f"{label}: {command}\n" for label, command in scene.others.items())
    answers = chat_texts.APPROVAL_ANSWERS.format(code=first.code)
    return asks.format(n=len(asked), facts="\n".join(facts)) + others + answers


class _Line(NamedTuple):
    """A line with a value, and the mark of its source, which is never cut."""

    text: str
    mark: str = ""

    def __str__(self) -> str:
        return self.text + self.mark


def _name_tool(asked: AskedCall) -> str:
    return f"{format_on_one_line(asked.approval.tool)} ({_describe_origin(asked.tool)})"


def _describe_origin(tool: HostTool | RemoteTool) -> str:
    if isinstance(tool, RemoteTool):
        return f"MCP server {format_on_one_line(tool.server)}"
    name = tool.extension if isinstance(tool, ExtensionTool) else ""
    return f"extension {format_on_one_line(name)}" if name else BUILT_IN


def _iter_call_lines(asked: Sequence[AskedCall], asker: str) -> Iterator[str]:
    lines = list(_iter_numbered_lines(asked, asker))
    if len(asked) == 1:
        yield "arguments:" if lines else "arguments: none"
    else:
        yield "calls:"
    if _count_units("\n".join(map(str, lines))) <= MAX_ARGUMENTS:
        yield from map(str, lines)
        return
    share = max(MAX_VALUE, MAX_ARGUMENTS // len(lines))
    shown = [
        _cut_line(line.text, max(share - _count_units(line.mark), MAX_VALUE // 4)) + line.mark
        for line in lines[: MAX_ARGUMENTS // share]
    ]
    yield from shown
    if len(shown) < len(lines):
        more = "arguments" if len(asked) == 1 else "lines"
        yield f"  … and {len(lines) - len(shown)} more {more}"
    texts = [one.approval.arguments for one in asked]
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    yield (
        f"CUT: {sum(map(len, texts))} characters in all, SHA-256 {digest[:32]};"
        f" read the rest with /approve show {asked[0].approval.code}"
    )


def _iter_numbered_lines(asked: Sequence[AskedCall], asker: str) -> Iterator[_Line]:
    if len(asked) == 1:
        yield from _iter_argument_lines(asked[0], asker)
        return
    keys = [(_name_tool(one), one.arguments) for one in asked]
    for group in group_alike_calls(keys):
        yield from _iter_group_lines(group, asked, asker)


def _iter_argument_lines(
    asked: AskedCall, asker: str, names: Sequence[str] | None = None, indent: str = "  "
) -> Iterator[_Line]:
    """Yield the lines of a call's arguments, or of those with these names, deciding ones first."""
    arguments, sources = asked.arguments, asked.approval.sources or {}
    wanted = arguments if names is None else names
    for name in chat_texts.sort_deciding_first(sources, wanted):
        text = f"{indent}{format_on_one_line(name)}: {format_on_one_line(arguments[name])}"
        yield _Line(text, chat_texts.mark_source(sources, name, asker))


def _iter_group_lines(group: AlikeCalls, asked: Sequence[AskedCall], asker: str) -> Iterator[_Line]:
    """Yield the lines of alike calls: what they share once, then what differs."""
    first = asked[group.places[0]]
    numbers = ", ".join(str(place + 1) for place in group.places)
    if len(group.places) == 1:
        yield _Line(f"{numbers}. {_name_tool(first)}")
        yield from _iter_argument_lines(first, asker)
        return
    names = ", ".join(map(format_on_one_line, group.differing)) or "nothing"
    head = f"{numbers}. {len(group.places)} calls of {_name_tool(first)}, differing in: {names}"
    yield _Line(head)
    shared = [name for name in first.arguments if name not in group.differing]
    yield from _iter_argument_lines(first, asker, shared)
    for place in group.places if group.differing else ():
        for line in _iter_argument_lines(asked[place], asker, group.differing, ""):
            yield _Line(f"  {place + 1}: {line.text}", line.mark)


def _iter_reasons(asked: Sequence[AskedCall]) -> Iterator[str]:
    reasons = list(dict.fromkeys(one.approval.reason for one in asked))
    shown = reasons[:MAX_REASONS]
    for reason in shown:
        text = format_on_one_line(reason)[1:-1]
        yield f"why: {_cut_line(text, REASON // len(shown))}"
    if len(shown) < len(reasons):
        yield f"why: {len(reasons) - len(shown)} more reasons"


def _iter_free_calls(free: Sequence[str]) -> Iterator[str]:
    if free:
        names = ", ".join(map(format_on_one_line, dict.fromkeys(free)))
        yield f"also planned, and needs no approval: {_cut_line(names, MAX_FREE)}"


def _iter_changes(asked: Sequence[AskedCall]) -> Iterator[str]:
    """Yield the differences from the model's calls: types, null values, fixed options."""
    changes = list[str]()
    for number, one in enumerate(asked, 1):
        if one.written is not None:
            call = "" if len(asked) == 1 else f"{number}: "
            if one.written.repaired:
                changes.append(f"{call}{REPAIRED}")
            changed = _iter_changed_arguments(one.arguments, one.written, one.fixed)
            changes += (call + text for text in changed)
    yield from changes[:MAX_CHANGES]
    if len(changes) > MAX_CHANGES:
        yield f"changed: {len(changes) - MAX_CHANGES} more arguments"


def _iter_changed_arguments(
    arguments: JsonObject, call: ToolCall, fixed: Mapping[str, object]
) -> Iterator[str]:
    written = call.arguments
    for name in dict.fromkeys((*written, *arguments)):
        if name in written and name in arguments and not _is_different(written, arguments, name):
            continue
        shown = _cut_line(format_on_one_line(name), MAX_VALUE)
        was = "nothing"
        if name in written:
            was = _cut_line(format_on_one_line(written[name]), MAX_VALUE)
        if name not in arguments:
            yield f"dropped: {shown}: {was}"
        else:
            by = "set by the prompt" if name in fixed else "changed"
            yield f"{by}: {shown}; the model wrote {was}"


def _is_different(before: JsonObject, after: JsonObject, name: str) -> bool:
    return format_on_one_line(before[name]) != format_on_one_line(after[name])


def _cut_line(line: str, most: int) -> str:
    if _count_units(line) <= most:
        return line
    shown = line.encode("utf-16-le")[: 2 * most].decode("utf-16-le", "ignore")
    return f"{shown}… [{len(line)} characters]"


def _count_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
