"""Format a question: exactly what a call will do, in a form that its arguments cannot forge.

Text of a model or a tool server appears in a code block, each value on one line as JSON without
control characters, hidden characters or long gaps. So no value can look like another line, end the
block, or be formatted away.

Where: are the exact arguments of a call shown for approval?
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from pydantic import JsonValue

from orchestrator import chat_texts
from orchestrator.chat_texts import format_on_one_line
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.outbox import Address
from orchestrator.tools.builtin.host_tool import ExtensionTool, HostTool
from orchestrator.tools.remote_tools import RemoteTool
from thinker.protocol.messages import JsonObject, ToolCall

# Lengths are in UTF-16 code units, in which Telegram counts; the whole fits one message.
MAX_ARGUMENTS = 1_600  # of the arguments
MAX_VALUE = 100  # of a value that was changed
MAX_CHANGES = 5  # changed values that are shown
REASON = 300
BUILT_IN = "built in"


def format_question(
    approval: Approval,
    address: Address,
    tool: HostTool | RemoteTool,
    written: ToolCall | None,
    fixed: Mapping[str, object],
) -> str:
    """Return the Markdown of a question.

    ``address`` is the chat of the call, which tools write to unless told otherwise,
    ``written`` the call as the model wrote it, and ``fixed`` the arguments that the prompt's
    definition sets.
    """
    arguments: JsonObject = json.loads(approval.arguments)
    until = datetime.fromtimestamp(approval.expires / 1000, UTC)
    facts = [
        f"tool: {format_on_one_line(approval.tool)} ({_describe_origin(tool)})",
        f"agent: {format_on_one_line(approval.agent_id)}",
        f"chat: {format_on_one_line(address.name)}",
        *_iter_argument_lines(approval, arguments),
        *(_iter_changes(arguments, written, fixed) if written else ()),
        f"why: {_cut_line(format_on_one_line(approval.reason)[1:-1], REASON)}",
        f"until: {until:%Y-%m-%d %H:%M} UTC",
    ]
    answers = chat_texts.APPROVAL_ANSWERS.format(code=approval.code)
    return chat_texts.APPROVAL.format(facts="\n".join(facts)) + answers


def _describe_origin(tool: HostTool | RemoteTool) -> str:
    if isinstance(tool, RemoteTool):
        return f"MCP server {format_on_one_line(tool.server)}"
    name = tool.extension if isinstance(tool, ExtensionTool) else ""
    return f"extension {format_on_one_line(name)}" if name else BUILT_IN


def _iter_argument_lines(approval: Approval, arguments: JsonObject) -> Iterator[str]:
    lines = chat_texts.format_arguments(arguments)
    yield "arguments:" if lines else "arguments: none"
    if _count_units("\n".join(lines)) <= MAX_ARGUMENTS:
        yield from lines
        return
    share = max(MAX_VALUE, MAX_ARGUMENTS // len(lines))
    shown = [_cut_line(line, share) for line in lines[: MAX_ARGUMENTS // share]]
    yield from shown
    if len(shown) < len(lines):
        yield f"  … and {len(lines) - len(shown)} more arguments"
    digest = hashlib.sha256(approval.arguments.encode()).hexdigest()
    yield (
        f"CUT: {len(approval.arguments)} characters in all, SHA-256 {digest[:32]};"
        f" read the rest with /approve show {approval.code}"
    )


def _iter_changes(
    arguments: JsonObject, call: ToolCall, fixed: Mapping[str, object]
) -> Iterator[str]:
    """Yield the differences from the model's call: types, null values, fixed options."""
    written = call.arguments
    if call.repaired:
        yield "repaired: the model wrote broken JSON, and this is how it was read"
    names = [
        name
        for name in dict.fromkeys((*written, *arguments))
        if name not in written
        or name not in arguments
        or _is_different(written[name], arguments[name])
    ]
    for name in names[:MAX_CHANGES]:
        was = (
            _cut_line(format_on_one_line(written[name]), MAX_VALUE)
            if name in written
            else "nothing"
        )
        if name not in arguments:
            yield f"dropped: {_cut_line(format_on_one_line(name), MAX_VALUE)}: {was}"
        else:
            by = "set by the prompt" if name in fixed else "changed"
            shown = _cut_line(format_on_one_line(name), MAX_VALUE)
            yield f"{by}: {shown}; the model wrote {was}"
    if len(names) > MAX_CHANGES:
        yield f"changed: {len(names) - MAX_CHANGES} more arguments"


def _is_different(before: JsonValue, after: JsonValue) -> bool:
    return format_on_one_line(before) != format_on_one_line(after)


def _cut_line(line: str, most: int) -> str:
    if _count_units(line) <= most:
        return line
    shown = line.encode("utf-16-le")[: 2 * most].decode("utf-16-le", "ignore")
    return f"{shown}… [{len(line)} characters]"


def _count_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
