"""The rights of roles on the page: enforced by the supervisor, shown by the page.

Where: are the rights of a role on the page decided?
"""

from pydantic import JsonValue
from pydantic.alias_generators import to_camel, to_snake

from orchestrator.control import editing, protocol, trials
from orchestrator.control.roles import ROLES, Right
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.journal.memory.secret_filter import mask_tokens

# The right that each method of the control socket needs; a method that is missing here is closed
# to the page.
REQUIRED_RIGHTS = {
    page_protocol.WEB_SEND: Right.CHAT,
    protocol.STATUS: Right.LOOK,
    protocol.HEALTH: Right.LOOK,
    protocol.EXAMINE: Right.READ,
    page_protocol.LOG_TAIL: Right.READ,
    page_protocol.PROCESS_LIST: Right.LOOK,
    page_protocol.TOOL_RULES: Right.READ,
    page_protocol.SCREEN_SHOW: Right.READ,
    protocol.APPROVAL_LIST: Right.DECIDE,
    protocol.APPROVAL_DECIDE: Right.DECIDE,
    protocol.PAIR_LIST: Right.DECIDE,
    protocol.PAIR_APPROVE: Right.DECIDE,
    protocol.PAIR_REVOKE: Right.CHANGE,
    protocol.TOOL_LIST: Right.DECIDE,
    protocol.TOOL_APPROVE: Right.DECIDE,
    page_protocol.CALL_SETTLE: Right.DECIDE,
    protocol.CLAIM_CONFIRM: Right.DECIDE,
    protocol.DLQ_RETRY: Right.DECIDE,
    protocol.DLQ_DROP: Right.DECIDE,
    protocol.AGENT_PAUSE: Right.CHANGE,
    protocol.AGENT_RESUME: Right.CHANGE,
    protocol.RELOAD: Right.CHANGE,
    protocol.TASK_RUN: Right.CHANGE,
    protocol.TASK_ENABLE: Right.CHANGE,
    protocol.TASK_DISABLE: Right.CHANGE,
    page_protocol.DASHBOARD_SESSIONS: Right.READ,
    page_protocol.DASHBOARD_INVITE: Right.CHANGE,
    page_protocol.DASHBOARD_REVOKE: Right.CHANGE,
    editing.FILE_LIST: Right.READ,
    editing.FILE_READ: Right.READ,
    editing.FILE_CHECK: Right.READ,
    editing.FILE_HISTORY: Right.READ,
    editing.FILE_SAVE: Right.CHANGE,
    editing.FILE_UNDO: Right.CHANGE,
    protocol.PAIR_ROLE: Right.CHANGE,
    trials.TRIAL_ESTIMATE: Right.READ,
    trials.TRIAL_LIST: Right.READ,
    trials.TRIAL_SHOW: Right.READ,
    trials.TRIAL_START: Right.CHANGE,
    trials.TRIAL_STOP: Right.CHANGE,
    trials.TRIAL_GO_ON: Right.CHANGE,
    trials.SETS_LIST: Right.READ,
    trials.SETS_ADD: Right.CHANGE,
    trials.SETS_REMOVE: Right.CHANGE,
    # Methods of other extensions.
    "setup/state": Right.READ,
    "setup/offers": Right.READ,
    "setup/model": Right.CHANGE,
    "setup/bot": Right.CHANGE,
    "keys/list": Right.READ,
    "keys/set": Right.CHANGE,
    "keys/remove": Right.CHANGE,
    "people/list": Right.READ,
    "pair/refuse": Right.DECIDE,
    "pair/restore": Right.CHANGE,
    "budget/extend": Right.CHANGE,
    "rules/add": Right.CHANGE,
    "rules/revoke": Right.CHANGE,
    "costs/forecast": Right.LOOK,
    "costs/savings": Right.READ,
    "backup/make": Right.CHANGE,
    "daemon/restart": Right.CHANGE,
    "memory/list": Right.READ,
    "memory/edit": Right.CHANGE,
    "memory/undo": Right.CHANGE,
    "memory/forget": Right.CHANGE,
    "profile/list": Right.READ,
    "profile/set": Right.CHANGE,
    "tasks/check": Right.READ,
    "skills/check": Right.READ,
    "sessions/end": Right.CHANGE,
    "tools/pins": Right.DECIDE,
    "branches/fork": Right.CHAT,  # of chats that the daemon lets this person branch
    "branches/rewind": Right.CHAT,
}
_READ_VERBS = frozenset(
    ("list", "read", "check", "history", "offers", "state", "pins", "estimate", "show")
) | {"forecast", "savings"}
# Methods that change nothing; all others need the id of a form, and are audited.
READ_METHODS = frozenset(
    {
        protocol.STATUS,
        protocol.HEALTH,
        protocol.EXAMINE,
        page_protocol.LOG_TAIL,
        page_protocol.DASHBOARD_SESSIONS,
    }
).union(method for method in REQUIRED_RIGHTS if method.rpartition("/")[2] in _READ_VERBS)
LONG_METHODS = frozenset({editing.FILE_SAVE})  # whose forms may hold a whole text
# Parameters that say what an act is about; all others, such as keys and texts, are not audited.
AUDITED_FIELDS = (
    "id",
    "name",
    "base",
    "number",
    "code",
    "argsHash",
    "granted",
    "note",
    "role",
    "user",
    "agents",
    "agentId",
    "agent",
    "account",
    "provider",
    "model",
    "channel",
    "chatId",
    "chat",
    "turn",
    "turnId",
    "seq",
    "happened",
    "usd",
    "kind",
    "turns",
    "confirmed",
    "setName",
)


def can_call_method(role: str, method: str, params: JsonValue = None) -> bool:
    """Return whether a role may call a method with these parameters; an unknown role calls none.

    Only who may change everything can let a chat do so, or choose its agent.
    """
    right = REQUIRED_RIGHTS.get(method)
    if method == protocol.PAIR_APPROVE:
        named = _name_fields(params)
        if named.get("role") not in ("talk", "approve") or named.get("agentId"):
            right = Right.CHANGE
    return right in ROLES.get(role, frozenset())


def select_audited_fields(params: JsonValue) -> dict[str, JsonValue]:
    """Return the parameters that an entry of the audit log may contain, without tokens."""
    named = _name_fields(params)
    found = {name: named[name] for name in AUDITED_FIELDS if name in named}
    return {k: mask_tokens(v) if isinstance(v, str) else v for k, v in found.items()}


def _name_fields(params: JsonValue) -> dict[str, JsonValue]:
    """Return parameters by their names in JSON, as models read them.

    Models also accept the names of Python, which count less, and no other spelling.
    """
    if not isinstance(params, dict):
        return {}
    own = {to_camel(name): value for name, value in params.items() if _is_python_name(name)}
    return {**own, **params}


def _is_python_name(name: str) -> bool:
    return to_snake(to_camel(name)) == name
