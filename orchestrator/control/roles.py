"""The rights of people on the page and of MCP clients."""

from enum import Enum, auto
from typing import Literal, TypeAlias

PageRole: TypeAlias = Literal["viewer", "chat", "approver", "operator"]


class Right(Enum):
    """What a session may do."""

    LOOK = auto()  # states, costs, tasks, and traces without text
    READ = auto()  # text, prompts, memory, logs
    CHAT = auto()  # write in own chats, stop own turns
    DECIDE = auto()  # approvals, pairings, changed tools, dead letters
    CHANGE = auto()  # everything else that the operator may do


ROLES = {
    "viewer": frozenset({Right.LOOK}),
    "chat": frozenset({Right.CHAT}),
    "approver": frozenset({Right.LOOK, Right.DECIDE}),
    "operator": frozenset(Right),
}
