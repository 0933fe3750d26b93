"""Who may do what on the page. The supervisor decides with it; the page asks it what to show."""

from enum import Enum, auto

from orchestrator.control import page_protocol, protocol


class Right(Enum):
    """What a session may do."""

    LOOK = auto()  # states, costs, tasks, and traces without texts
    READ = auto()  # texts, prompts, memory, logs
    CHAT = auto()  # write in own chats, stop own turns
    DECIDE = auto()  # approvals, pairings, changed tools, dead letters
    CHANGE = auto()  # all else that the operator may


ROLES = {
    "viewer": frozenset({Right.LOOK}),
    "chat": frozenset({Right.CHAT}),
    "approver": frozenset({Right.LOOK, Right.DECIDE}),
    "operator": frozenset(Right),
}
# What each method of the control socket needs; a method that is missing here has no way from the
# page.
NEEDED = {
    page_protocol.WEB_SEND: Right.CHAT,
    protocol.STATUS: Right.LOOK,
    protocol.HEALTH: Right.LOOK,
    protocol.EXAMINE: Right.READ,
    protocol.LOG_TAIL: Right.READ,
    protocol.APPROVAL_LIST: Right.DECIDE,
    protocol.APPROVAL_DECIDE: Right.DECIDE,
    protocol.PAIR_LIST: Right.DECIDE,
    protocol.PAIR_APPROVE: Right.DECIDE,
    protocol.PAIR_REVOKE: Right.CHANGE,
    protocol.TOOL_LIST: Right.DECIDE,
    protocol.TOOL_APPROVE: Right.DECIDE,
    protocol.CALL_SETTLE: Right.DECIDE,
    protocol.DLQ_RETRY: Right.DECIDE,
    protocol.DLQ_DROP: Right.DECIDE,
    protocol.AGENT_PAUSE: Right.CHANGE,
    protocol.AGENT_RESUME: Right.CHANGE,
    protocol.RELOAD: Right.CHANGE,
    protocol.TASK_RUN: Right.CHANGE,
    protocol.TASK_ENABLE: Right.CHANGE,
    protocol.TASK_DISABLE: Right.CHANGE,
}
# Methods that change nothing; all others need the id of a form, and are audited.
LOOKING = frozenset(
    {
        *(protocol.STATUS, protocol.HEALTH, protocol.LOG_TAIL, protocol.APPROVAL_LIST),
        *(protocol.PAIR_LIST, protocol.TOOL_LIST, protocol.EXAMINE),
    }
)


def may(role: str, method: str) -> bool:
    """Return whether a session with this role may call a method; an unknown role may nothing."""
    return NEEDED.get(method) in ROLES.get(role, frozenset())
