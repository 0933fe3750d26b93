"""The protocol of the control socket: JSON-RPC between the command line and a running daemon.

The unix socket is below the daemon's home, 0600 in a 0700 directory: a process that can open it
acts as the operator, unless the daemon or one of its children started it. The classes below are
the parameters and results of the methods.
"""

from collections.abc import Mapping

from pydantic import Field, JsonValue

from orchestrator.channel_api import ChatRole
from orchestrator.config_problem import Problem
from orchestrator.control.agent_report import AgentReport, BudgetUse, WorkerCounts
from orchestrator.control.camel_model import CamelModel
from orchestrator.findings import Finding
from orchestrator.journal_address import SharingDaemon
from thinker.protocol.sandbox import SandboxLevel

STATUS = "status"  # StatusRequest or nothing → StatusReport
HEALTH = "health"  # → HealthReport
EXAMINE = "doctor"  # → DoctorFindings, by `page/act`, from the extension of that name
CHAT_SEND = "chat/send"  # ChatSend → Ack
CHAT_WAIT = "chat/wait"  # ChatWait → ChatOutcome
CHAT_WATCH = "chat/watch"  # ChatWatch → ChatScene, and then CHAT_EVENT until the connection closes
CHAT_EVENT = "chat/event"  # notification ChatEvent
PAIR_LIST = "pair/list"  # → PairingList
PAIR_APPROVE = "pair/approve"  # PairCode → AdmittedChat
PAIR_REVOKE = "pair/revoke"  # PairedChat → Ack
PAIR_ROLE = "pair/role"  # AdmittedChat → Ack
APPROVAL_LIST = "approvals/list"  # → ApprovalList
APPROVAL_DECIDE = "approvals/decide"  # ApprovalDecision → Ack
TOOL_LIST = "tools/list"  # → PinList
TOOL_APPROVE = "tools/approve"  # ToolName → Ack
RELOAD = "reload"  # → ReloadReport
STOP = "stop"  # → Ack
AGENT_PAUSE = "agents/pause"  # AgentName → Ack
AGENT_RESUME = "agents/resume"  # AgentName → Ack
CLAIM_CONFIRM = "receipts/confirm"  # TurnClaim → Ack, of the extension for receipts
DLQ_RETRY = "dlq/retry"  # RowId → Ack
DLQ_DROP = "dlq/drop"  # RowId → Ack
TASK_RUN = "tasks/run"  # RowId → Ack
TASK_ENABLE = "tasks/enable"  # RowId → Ack
TASK_DISABLE = "tasks/disable"  # RowId → Ack

UNKNOWN_NAME = -32004  # error code: what a request names does not exist


class Ack(CamelModel):
    """The request was carried out."""


class ProcessReport(CamelModel):
    """One process of the daemon in `orchestrator status`.

    ``sandbox`` is the level that the process found when it tried its jail; ``reason`` says why the
    level is no higher.
    """

    name: str
    pid: int
    sandbox: SandboxLevel
    reason: str = ""


class BrokerReport(CamelModel):
    """The broker in `orchestrator status`; ``reason`` says why it is away, if it is."""

    state: str
    pid: int | None
    restarts: int
    reason: str = ""


class ChannelReport(CamelModel):
    """One channel in `orchestrator status`; ``last_ok`` in seconds since the epoch."""

    name: str
    state: str
    detail: str = ""
    last_ok: float | None = None


class ToolServerReport(CamelModel):
    """One MCP server in `orchestrator status`; ``tools`` is the number of tools that it lists.

    ``sandbox`` is the level of its jail, as tried in its process; empty for a server at an address.
    ``notes`` say what is odd in its list, such as the tools that are left out.
    """

    name: str
    state: str
    tools: int = 0
    error: str = ""
    notes: tuple[str, ...] = ()
    sandbox: str = ""
    sandbox_reason: str = ""


class RecentTurn(CamelModel):
    """One of the last turns; ``ms`` is the time from its start to its reply, in milliseconds."""

    turn_id: str
    agent_id: str
    chat: str
    state: str
    stop_reason: str | None
    tools: tuple[str, ...]
    ms: int | None
    error: str | None = None


class StatusReport(CamelModel):
    """The answer of `orchestrator status --json`."""

    ready: bool
    version: str
    home: str
    config_file: str
    agents: tuple[AgentReport, ...]  # those that were asked for
    agent_states: Mapping[str, int] = {}  # how many agents are in each state, of all
    agents_left_out: int = 0  # that match but are not among ``agents``
    workers: WorkerCounts | None = None
    budgets: tuple[BudgetUse, ...] = ()  # of all agents together
    channels: tuple[ChannelReport, ...]
    tool_servers: tuple[ToolServerReport, ...] = ()
    config_errors: tuple[Problem, ...]
    processes: tuple[ProcessReport, ...] = ()
    broker: BrokerReport | None = None
    open_turns: int
    journal: str = ""  # its file, or its server without user and password
    journal_bytes: int = 0  # of all its files, with the write-ahead log
    nodes: tuple[SharingDaemon, ...] = ()  # of a journal that daemons of several machines may share
    starts: int = 0  # of daemons on this journal so far: each takeover is one
    inbox: Mapping[str, int]
    recent_turns: tuple[RecentTurn, ...] = ()
    notes: tuple[str, ...] = ()  # of the hints, those that `HealthReport` has too
    hints: tuple[str, ...] = ()  # what is degraded, and what to do


class HealthReport(CamelModel):
    """The answer of `orchestrator health`, which any live daemon gives.

    ``reasons`` say why it is not ready; ``notes`` hold other hints.
    """

    ready: bool
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ChatSend(CamelModel):
    """A message for a console chat. ``message`` is a fresh id; a repeated one is stored once."""

    chat: str
    message: str
    text: str
    agent: str | None = None


class ChatWait(CamelModel):
    """A wait of at most ``seconds`` for the end of a message."""

    message: str
    seconds: float = 30.0


class ChatOutcome(CamelModel):
    """The state of a message; ``pending`` until it has ended, ``unknown`` if it was never sent.

    ``texts`` are the parts of the reply; ``error`` says why there is no reply.
    """

    state: str
    texts: tuple[str, ...] = ()
    error: str | None = None


class ChatWatch(CamelModel):
    """A console chat to watch, for messages to ``agent`` (default: chosen by the bindings).

    A client that reconnects gives the last position that it has seen as ``after``; ``recent`` is
    the number of earlier exchanges to send.
    """

    chat: str
    agent: str | None = None
    after: int | None = None
    recent: int = Field(default=0, ge=0, le=50)


class ChatEntry(CamelModel):
    """A message to a chat; ``at`` in seconds since the epoch.

    ``source`` is ``answer``, ``task`` (of a scheduled task), ``tool`` (an agent sent it during a
    turn of this chat or another) or ``notice`` (of the daemon itself). ``answers`` are the
    messages that it answers. A question ``asks`` for the approval with that code; the message that
    tells its outcome ``settles`` it.
    """

    position: int
    text: str
    markdown: bool
    at: float
    source: str
    agent_id: str = ""
    turn_id: str = ""
    answers: tuple[str, ...] = ()
    asks: str = ""
    settles: str = ""


class ChatExchange(CamelModel):
    """An earlier message and its reply, both shortened; a scheduled task has no ``text``."""

    text: str
    reply: str
    at: float


class ChatScene(CamelModel):
    """A chat when a client begins to watch it.

    ``agent_id`` is the agent that answers, None without one; ``agents`` are the first ones
    that can, and ``agents_left_out`` is how many more there are. ``commands`` are the chat commands
    with their descriptions.
    """

    agent_id: str | None
    provider: str
    model: str
    agents: tuple[str, ...]
    agents_left_out: int = 0
    commands: Mapping[str, str]
    position: int
    recent: tuple[ChatExchange, ...] = ()
    questions: tuple[ChatEntry, ...] = ()


class GrowingAnswer(CamelModel):
    """The whole text so far of a turn's current response."""

    turn_id: str
    text: str


class ChatCall(CamelModel):
    """A tool call of a turn: it runs or waits while ``seconds`` is None, otherwise it has ended.

    ``problem`` says why it failed, if it did.
    """

    turn_id: str
    seq: int
    agent_id: str
    tool: str
    arguments: Mapping[str, JsonValue]
    seconds: float | None = None
    problem: str | None = None


class ChatEvent(CamelModel):
    """Something happened in a chat: one of the fields is set."""

    chat: str
    message: ChatEntry | None = None
    answer: GrowingAnswer | None = None
    call: ChatCall | None = None


class PairingReport(CamelModel):
    """A chat that asked to be paired; ``created_at`` in seconds since the epoch."""

    channel: str
    chat_id: str
    name: str
    code: str | None
    state: str
    created_at: float
    role: ChatRole | None = None


class PairingList(CamelModel):
    """All chats that ever asked to be paired."""

    pairings: tuple[PairingReport, ...]


class PairCode(CamelModel):
    """The code that a chat received, and what the chat may do from now on, if that was said."""

    code: str
    role: ChatRole | None = None


class PairedChat(CamelModel):
    """A chat of a channel."""

    channel: str
    chat_id: str


class AdmittedChat(PairedChat):
    """A chat that was let in, and what it may do."""

    role: ChatRole


class ArgumentMark(CamelModel):
    """Where an argument's value is from, in words; ``decides``: where the call goes."""

    argument: str
    source: str
    decides: bool


class AskedCallReport(CamelModel):
    """A tool call that needs approval, with ``arguments`` as JSON."""

    tool: str
    arguments: str
    reason: str
    sources: tuple[ArgumentMark, ...] = ()


class ApprovalReport(AskedCallReport):
    """A question: a call, and the ``others`` that the same code answers for.

    ``expires`` is in seconds since the epoch.
    """

    code: str
    agent_id: str
    chat: str
    expires: float
    others: tuple[AskedCallReport, ...] = ()

    @property
    def calls(self) -> tuple[AskedCallReport, ...]:
        """All calls of the question, in order."""
        return (self, *self.others)


class ApprovalList(CamelModel):
    """All questions about calls that need approval."""

    approvals: tuple[ApprovalReport, ...]


class ApprovalDecision(CamelModel):
    """The operator's decision on a question; with ``args_hash`` only for these calls.

    ``note`` says why; the model is told.
    """

    code: str
    granted: bool
    args_hash: str | None = None
    note: str = Field(default="", max_length=500)


class PinReport(CamelModel):
    """A tool of an MCP server; ``at`` is when it was approved, in seconds since the epoch."""

    name: str
    changed: bool
    by: str
    at: float


class PinList(CamelModel):
    """The tools of MCP servers; a name is ``server/tool``."""

    tools: tuple[PinReport, ...]


class ToolName(CamelModel):
    """A tool as ``server/tool``, with the digest that was ``seen``, or all of a ``server``."""

    name: str
    seen: str = ""


class AgentName(CamelModel):
    """The id of an agent."""

    agent_id: str


class RowId(CamelModel):
    """The id of a dead message in the inbox, a scheduled task, or a row of an extension."""

    id: int = Field(ge=1, lt=2**63)


class TurnClaim(CamelModel):
    """A claim of the answer of a turn, by its number in the turn's receipt."""

    turn_id: str
    claim: int = Field(ge=1)


class DoctorFindings(CamelModel):
    """A running daemon's findings about itself."""

    findings: tuple[Finding, ...]


class ReloadReport(CamelModel):
    """Whether a reload applied agents.json, and the problems in it."""

    applied: bool
    problems: tuple[Problem, ...]
