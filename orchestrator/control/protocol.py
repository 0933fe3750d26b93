"""The control socket: what the command line asks of a running daemon.

JSON-RPC over a unix socket below the daemon's home, 0600 in a 0700 directory: whoever can open it
is the operator. Methods and their parameters are the classes below.
"""

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from pydantic import Field

from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import NotRunningError
from orchestrator.settings import Settings
from thinker.protocol.peer import NotificationHandler, Peer, connected

STATUS = "status"  # → StatusReport
HEALTH = "health"  # → HealthReport
CHAT_SEND = "chat/send"  # ChatSend → Done
CHAT_WAIT = "chat/wait"  # ChatWait → ChatOutcome
CHAT_VIEW = "chat/view"  # notification ChatView, to who waits in that chat and wants it
PAIR_LIST = "pair/list"  # → PairingList
PAIR_APPROVE = "pair/approve"  # PairCode → PairedChat
PAIR_REVOKE = "pair/revoke"  # PairedChat → Done
APPROVAL_LIST = "approvals/list"  # → ApprovalList
APPROVAL_DECIDE = "approvals/decide"  # Word → Done
FORGET = "forget"  # Forgettable → Done
TOOL_LIST = "tools/list"  # → PinList
TOOL_APPROVE = "tools/approve"  # ToolName → Done
RELOAD = "reload"  # → ReloadReport
AGENT_PAUSE = "agents/pause"  # AgentName → Done
AGENT_RESUME = "agents/resume"  # AgentName → Done
DLQ_RETRY = "dlq/retry"  # Numbered → Done
DLQ_DROP = "dlq/drop"  # Numbered → Done
API_REFRESH = "api/refresh"  # → Done: the token of the endpoints is another one
TASK_RUN = "tasks/run"  # Numbered → Done
TASK_ENABLE = "tasks/enable"  # Numbered → Done
TASK_DISABLE = "tasks/disable"  # Numbered → Done


class Ack(CamelModel):
    """It was done."""


class AgentReport(CamelModel):
    """One agent in `orchestrator status`."""

    agent_id: str
    state: str
    pid: int | None
    restarts: int
    provider: str
    model: str
    parent: str = ""  # whose subagent it is
    reason: str = ""  # why it is not running, if something is wrong
    paused: str = ""  # why its messages wait, if they do


class ChannelReport(CamelModel):
    """One channel in `orchestrator status`; ``last_ok`` in seconds since the epoch."""

    name: str
    state: str
    detail: str = ""
    last_ok: float | None = None


class ToolServerReport(CamelModel):
    """One MCP server in `orchestrator status`; ``tools`` counts those that it lists."""

    name: str
    state: str
    tools: int = 0
    error: str = ""


class ConfigProblem(CamelModel):
    """One problem of agents.json."""

    file: str
    line: int
    agent_id: str | None
    message: str
    severity: str = "error"


class RecentTurn(CamelModel):
    """One of the last turns: which tools it called and how it ended; ``ms`` from start to reply."""

    turn_id: str
    agent_id: str
    chat: str
    state: str
    stop_reason: str | None
    tools: tuple[str, ...]
    ms: int | None


class StatusReport(CamelModel):
    """The answer of `orchestrator status --json`."""

    ready: bool
    version: str
    home: str
    config_file: str
    agents: tuple[AgentReport, ...]
    channels: tuple[ChannelReport, ...]
    tool_servers: tuple[ToolServerReport, ...] = ()
    config_errors: tuple[ConfigProblem, ...]
    open_turns: int
    journal_bytes: int = 0  # of its files, with what is not yet written back
    inbox: Mapping[str, int]
    recent_turns: tuple[RecentTurn, ...] = ()
    hints: tuple[str, ...] = ()  # how to plug in a real model, what is degraded


class HealthReport(CamelModel):
    """The answer of `orchestrator health`; whoever gets it knows that the daemon is alive.

    ``reasons`` say what keeps it from being ready.
    """

    ready: bool
    reasons: tuple[str, ...] = ()


class ChatSend(CamelModel):
    """Say something in a console chat. ``message`` is a fresh id: sending it twice is once."""

    chat: str
    message: str
    text: str
    agent: str | None = None


class ChatWait(CamelModel):
    """Wait at most ``seconds`` for the end of a message; with ``views``, see the answer grow."""

    message: str
    seconds: float = 30.0
    views: bool = False


class ChatOutcome(CamelModel):
    """What became of a message: ``pending`` when it has not ended yet.

    ``texts`` are the parts of the reply; ``error`` says why there is none.
    """

    state: str
    texts: tuple[str, ...] = ()
    error: str | None = None


class ChatView(CamelModel):
    """The answer so far in a chat (whole)."""

    chat: str
    text: str


class PairingReport(CamelModel):
    """A chat that asked to be let in; times in seconds since the epoch."""

    channel: str
    chat_id: str
    name: str
    code: str | None
    state: str
    created_at: float


class PairingList(CamelModel):
    """All chats that ever asked."""

    pairings: tuple[PairingReport, ...]


class PairCode(CamelModel):
    """The code that a chat was told, or the id of a chat that was revoked before."""

    code: str


class PairedChat(CamelModel):
    """A chat by its name."""

    channel: str
    chat_id: str


class ApprovalReport(CamelModel):
    """A call that waits for the operator's word; ``expires`` in seconds since the epoch."""

    code: str
    agent_id: str
    chat: str
    tool: str
    arguments: str
    reason: str
    expires: float


class ApprovalList(CamelModel):
    """All calls that wait."""

    approvals: tuple[ApprovalReport, ...]


class ApprovalDecision(CamelModel):
    """The operator's answer to one question."""

    code: str
    granted: bool


class ErasureTarget(CamelModel):
    """An agent, or a chat of a channel."""

    agent: str | None = None
    channel: str | None = None
    chat: str | None = None


class PinReport(CamelModel):
    """A tool of an MCP server; ``at``, in seconds since the epoch, is when it was believed."""

    name: str
    changed: bool
    by: str
    at: float


class PinList(CamelModel):
    """Tools by their names for operators, ``server/tool``."""

    tools: tuple[PinReport, ...]


class ToolName(CamelModel):
    """``server/tool``, or ``server`` for all of its tools."""

    name: str


class AgentName(CamelModel):
    """An agent by its id."""

    agent_id: str


class RowId(CamelModel):
    """A dead message by its inbox id, or a scheduled task by its number."""

    id: int = Field(ge=1, lt=2**63)


class ReloadReport(CamelModel):
    """What a reload found and did."""

    applied: bool
    problems: tuple[ConfigProblem, ...]


@asynccontextmanager
async def connect(
    settings: Settings, notifications: Mapping[str, NotificationHandler] | None = None
) -> AsyncIterator[Peer]:
    """A peer of the running daemon.

    Raises:
        NotRunningError: no daemon answers on this home.
    """
    path = settings.paths.control_socket
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(str(path))
    except OSError as error:
        sock.close()
        raise NotRunningError(
            f"no daemon runs on {settings.home}; start one with 'orchestrator run'"
        ) from error
    async with connected(sock, None, notifications) as peer:
        yield peer
