"""Which tools an agent may use: the one place that decides (design §12).

A pattern is a tool's whole name in which ``*`` stands for any text, also none. Deny wins over
allow; an empty allow list allows all. Names are compared after Unicode normalisation (NFC), case
matters.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol
from unicodedata import normalize

from thinker.protocol.messages import ToolSpec


class Rules(Protocol):
    """The part of an agent's definition that is about tools."""

    @property
    def allowed_tools(self) -> Sequence[str]:
        """Globs of what it may use; none allows all."""

    @property
    def denied_tools(self) -> Sequence[str]:
        """Globs of what it may not use."""

    @property
    def approvals(self) -> Sequence[str]:
        """Globs of what a person must allow, call by call."""


@dataclass(frozen=True)
class Decision:
    """Whether a tool may be used, and the rule that says so, for logs."""

    allowed: bool
    reason: str


def allowed(tool: str, allow: Sequence[str], deny: Sequence[str]) -> bool:
    """Whether the lists of an agent let it use ``tool``."""
    return decide(tool, allow, deny).allowed


def decide(tool: str, allow: Sequence[str], deny: Sequence[str]) -> Decision:
    """Like `allowed`, with the reason."""
    for pattern in deny:
        if matches(pattern, tool):
            return Decision(allowed=False, reason=f'denied by "{pattern}" in deniedTools')
    if not allow:
        return Decision(allowed=True, reason="allowedTools is empty, which allows all")
    for pattern in allow:
        if matches(pattern, tool):
            return Decision(allowed=True, reason=f'allowed by "{pattern}" in allowedTools')
    return Decision(allowed=False, reason="no pattern of allowedTools matches")


def needs_approval(tool: str, approvals: Sequence[str]) -> bool:
    """Whether the ``approvals`` of an agent name ``tool``."""
    return any(matches(pattern, tool) for pattern in approvals)


def offer(tools: Iterable[ToolSpec], agent: Rules) -> tuple[ToolSpec, ...]:
    """The tools that an agent may use, each with what its calls need."""
    return tuple(
        tool.model_copy(update={"approval": True})
        if needs_approval(tool.name, agent.approvals)
        else tool
        for tool in tools
        if allowed(tool.name, agent.allowed_tools, agent.denied_tools)
    )


def matches(pattern: str, name: str) -> bool:
    """Whether the whole of ``name`` fits ``pattern``."""
    head, *rest = normalize("NFC", pattern).split("*")
    name = normalize("NFC", name)
    if not rest:
        return name == head
    *middle, tail = rest
    at, end = len(head), len(name) - len(tail)
    if at > end or not (name.startswith(head) and name.endswith(tail)):
        return False
    for part in middle:  # the leftmost find leaves most room for what follows
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
