"""The rights of roles on the page: enforced by the supervisor, shown by the page.

Where: are the rights of a role on the page decided?
"""

from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.control.roles import ROLES, Right
from orchestrator.extensions.page.daemon_side import page_protocol

# The right that each method of the control socket needs; a method that is missing here is closed
# to the page.
REQUIRED_RIGHTS = {
    page_protocol.WEB_SEND: Right.CHAT,
    protocol.STATUS: Right.LOOK,
    protocol.HEALTH: Right.LOOK,
    protocol.EXAMINE: Right.READ,
    page_protocol.LOG_TAIL: Right.READ,
    page_protocol.SCREEN_SHOW: Right.READ,
    protocol.APPROVAL_LIST: Right.DECIDE,
    protocol.APPROVAL_DECIDE: Right.DECIDE,
    protocol.PAIR_LIST: Right.DECIDE,
    protocol.PAIR_APPROVE: Right.DECIDE,
    protocol.PAIR_REVOKE: Right.CHANGE,
    protocol.TOOL_LIST: Right.DECIDE,
    protocol.TOOL_APPROVE: Right.DECIDE,
    page_protocol.CALL_SETTLE: Right.DECIDE,
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
READ_METHODS = frozenset(
    {
        protocol.STATUS,
        protocol.HEALTH,
        page_protocol.LOG_TAIL,
        protocol.APPROVAL_LIST,
        protocol.PAIR_LIST,
        protocol.TOOL_LIST,
        protocol.EXAMINE,
        page_protocol.SCREEN_SHOW,
    }
)


def can_call_method(role: str, method: str, params: JsonValue = None) -> bool:
    """Return whether a role may call a method with these parameters; an unknown role calls none.

    Only who may change everything can let a chat do so.
    """
    right = REQUIRED_RIGHTS.get(method)
    if method == protocol.PAIR_APPROVE and _find_role(params) not in ("talk", "approve"):
        right = Right.CHANGE
    return right in ROLES.get(role, frozenset())


def _find_role(params: JsonValue) -> JsonValue:
    return params.get("role") if isinstance(params, dict) else None
