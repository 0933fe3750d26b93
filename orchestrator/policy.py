"""Which tools an agent may use: the one place that decides (design §12).

A pattern is a tool's whole name in which ``*`` stands for any text, also none. Deny wins over
allow; an empty allow list allows all. Names are compared after Unicode normalisation (NFC), case
matters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import normalize


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
