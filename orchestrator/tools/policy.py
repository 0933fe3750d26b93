"""Decide which tools an agent may use.

A pattern matches a tool's whole name; ``*`` matches any text, including the empty text. Deny wins
over allow; an empty allow list allows all. Names are compared case-sensitively after Unicode
normalization (NFC).

Where: are allowedTools and deniedTools applied?
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from unicodedata import normalize

from orchestrator.agentsfile import AgentDefinition
from thinker.protocol.messages import SideEffect, ToolSpec

# What a task may not use: its outcome goes to its notify chat when it has ended.
SENDING = ("send_message", "send_telegram", "*_send_message")


class Decision(NamedTuple):
    """Whether a tool may be used, and the deciding rule, for logs."""

    allowed: bool
    reason: str


def is_tool_allowed(tool: str, allow: Sequence[str], deny: Sequence[str]) -> bool:
    return decide_tool(tool, allow, deny).allowed


def decide_tool(tool: str, allow: Sequence[str], deny: Sequence[str]) -> Decision:
    """Return whether the lists of an agent permit ``tool``, with the reason."""
    for pattern in deny:
        if matches_pattern(pattern, tool):
            return Decision(allowed=False, reason=f'denied by "{pattern}" in deniedTools')
    if not allow:
        return Decision(allowed=True, reason="allowedTools is empty, which allows all")
    for pattern in allow:
        if matches_pattern(pattern, tool):
            return Decision(allowed=True, reason=f'allowed by "{pattern}" in allowedTools')
    return Decision(allowed=False, reason="no pattern of allowedTools matches")


def needs_approval(tool: str, approvals: Sequence[str]) -> bool:
    return any(matches_pattern(pattern, tool) for pattern in approvals)


def select_offered_tools(tools: Iterable[ToolSpec], agent: AgentDefinition) -> tuple[ToolSpec, ...]:
    """Return the tools that an agent may use, marked where calls need approval.

    Tools that its allow list names are never on demand.
    """
    offered = []
    for tool in tools:
        if is_tool_allowed(tool.name, agent.allowed_tools, agent.denied_tools):
            changes: dict[str, object] = {}
            if needs_approval(tool.name, agent.approvals):
                changes["approval"] = True
            if tool.name in agent.allowed_tools:
                changes["keywords"] = ()
            offered.append(tool.model_copy(update=changes) if changes else tool)
    return tuple(offered)


def map_side_effects(tools: Iterable[ToolSpec]) -> dict[str, SideEffect]:
    return {tool.name: tool.side_effect for tool in tools}


def matches_pattern(pattern: str, name: str) -> bool:
    """Return whether ``pattern`` matches the whole ``name``."""
    head, *rest = normalize("NFC", pattern).split("*")
    name = normalize("NFC", name)
    if not rest:
        return name == head
    *middle, tail = rest
    at, end = len(head), len(name) - len(tail)
    if at > end or not (name.startswith(head) and name.endswith(tail)):
        return False
    for part in middle:  # the leftmost match leaves most room for the next parts
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
