"""Requests of the page's process and of `orchestrator dashboard` to the supervisor."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import Base64Bytes, BeforeValidator, Field, JsonValue

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import ApprovalDecision
from orchestrator.control.roles import PageRole
from thinker.protocol.messages import JsonObject, WhileBusy

ENTER = "page/enter"  # PageCode → PageEntry
IDENTIFY = "page/identify"  # ProxiedPerson → PageEntry
ACT = "page/act"  # PageAct → the result of the method
SEEN = "page/seen"  # SessionDigest → Ack
WATCH = "page/watch"  # notification ChatKeys: the chats that are looked at
VIEW = "page/view"  # notification to the page ChatView: an answer grows
WEB_SEND = "web/send"  # WebSend → Ack, by `page/act`
SCREEN_SHOW = "screen/show"  # ShownScreen → ScreenText, by `page/act`
LOG_TAIL = "logs/tail"  # → LogLines, by `page/act`
TOOL_RULES = "toolrules/list"  # → ToolRuleTable, by `page/act`
PROCESS_LIST = "processes/list"  # ProcessNumbers → ProcessTable, by `page/act`
CALL_SETTLE = "calls/settle"  # SettledCall → Ack, by `page/act`
LEAVE = "page/leave"  # SessionDigest → Ack
CHANGED = "page/changed"  # notification to the page: something changed outside of the journal

DASHBOARD_OPEN = "dashboard/open"  # → PageAddress
DASHBOARD_CLOSE = "dashboard/close"  # → Ack
DASHBOARD_SESSIONS = "dashboard/sessions"  # → PageSessions
DASHBOARD_REVOKE = "dashboard/revoke"  # SessionName → Ack
DASHBOARD_INVITE = "dashboard/invite"  # PageGuest → PageAddress

NOT_PERMITTED = -32005  # error code: the role of the session has no right to the method

MAX_FILES = 10  # of a message
MAX_FILE_NAME = 200  # characters
MAX_FILE_BYTES = 8 * 1024 * 1024  # of all of them, which have to fit a frame in base64

Role: TypeAlias = PageRole


def _split_names(value: JsonValue) -> JsonValue:
    if not isinstance(value, str):
        return value
    return [name for part in value.split(",") if (name := part.strip())] or None


class PageCode(CamelModel):
    """A code that logs in once; ``label`` is the browser's description."""

    code: str
    label: str = ""


class PageEntry(CamelModel):
    """The token of a new session; None if the code is wrong, expired or used."""

    token: str | None


class ProxiedPerson(CamelModel):
    """A person named by a proxy; ``connection`` is the number of the sent connection."""

    named: str
    label: str = ""
    connection: int = 0


class SessionDigest(CamelModel):
    """A session by the digest of its token."""

    digest: str


class PageAct(CamelModel):
    """A method to call for a session; the same ``once`` again gets the first answer."""

    digest: str
    method: str
    params: JsonValue = None
    once: str = Field("", max_length=64)


class ShownDecision(ApprovalDecision):
    """A decision about exactly the arguments that were shown."""

    args_hash: str


class ChatKeys(CamelModel):
    """Chats by their keys in the journal."""

    keys: tuple[str, ...]


class ChatView(CamelModel):
    """The whole text so far of a turn's present response."""

    key: str
    turn_id: str
    text: str


class WebFile(CamelModel):
    """A file of a message; its ``data`` is in base64 on the wire."""

    name: str = Field(min_length=1, max_length=MAX_FILE_NAME)
    data: Base64Bytes


class WebSend(CamelModel):
    """A message to a chat of the page: ``user/name``.

    ``once`` is the message's id, so a repetition has no effect. ``while_busy`` says what the
    message does to an answer that is being written; empty leaves that to the agent.
    """

    chat: str = Field(
        pattern=r"^([A-Za-z0-9][A-Za-z0-9._@+-]{0,63})/[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
    )
    once: str = Field(pattern=r"^[A-Za-z0-9-]{8,64}$")
    text: str = Field(max_length=1_000_000)
    agent: str | None = None
    files: tuple[WebFile, ...] = Field((), max_length=MAX_FILES)
    while_busy: WhileBusy | Literal[""] = ""


class ShownScreen(CamelModel):
    """A screen of another extension, with the parameters of its address."""

    path: str
    query: Mapping[str, str] = Field(default_factory=dict)


class ScreenText(CamelModel):
    """The content of such a screen, in Markdown."""

    title: str
    text: str


class LogLines(CamelModel):
    """The newest lines of the daemon's log, oldest first."""

    lines: tuple[str, ...]


class ProcessNumbers(CamelModel):
    """Processes of the daemon by their numbers."""

    pids: tuple[int, ...] = Field(max_length=1000)


class ProcessFigures(CamelModel):
    """A process: its resident memory, its processor time since its start, and its age."""

    pid: int
    memory_bytes: int
    cpu_seconds: float
    age_seconds: float


class ProcessTable(CamelModel):
    """The processes that still run."""

    processes: tuple[ProcessFigures, ...]


class ListedTool(CamelModel):
    """A tool as a model sees it; ``server`` is empty for a built-in one."""

    name: str
    server: str
    description: str
    parameters: JsonObject
    effect: str


class ToolRule(CamelModel):
    """Whether an agent may use a tool, by which rule, and whether a person is asked each time."""

    agent_id: str
    tool: str
    allowed: bool
    reason: str
    asks: bool


class ToolRuleTable(CamelModel):
    """The known tools, and the rules for them."""

    tools: tuple[ListedTool, ...]
    rules: tuple[ToolRule, ...]


class SettledCall(CamelModel):
    """A person's finding about an unconfirmed call: whether the call happened after all."""

    turn_id: str
    seq: int
    happened: bool


class PageAddress(CamelModel):
    """An address to open in a browser, with a code in its fragment.

    ``way`` says how to reach the page from another machine.
    """

    url: str
    way: str = ""


class PageGuest(CamelModel):
    """A guest with a role and the agents to write to; None means all agents.

    A form has the agents as one text, separated by commas.
    """

    user: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    role: Role = "chat"
    agents: Annotated[tuple[str, ...] | None, BeforeValidator(_split_names)] = None


class PageSession(CamelModel):
    """A session of the page; times in seconds since the epoch."""

    id: str
    user: str
    role: str
    agents: tuple[str, ...] | None
    made: float
    last: float
    label: str


class PageSessions(CamelModel):
    """All valid sessions."""

    sessions: tuple[PageSession, ...]


class SessionName(CamelModel):
    """A user, or a session by the beginning of its id."""

    name: str
