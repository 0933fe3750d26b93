"""The methods of the wire between supervisor and worker, with their parameters and results.

Supervisor to worker: ``turn/run``, ``prompt/preview``, ``prompt/render`` (requests);
``turn/cancel``, ``drain`` (notifications). Worker to supervisor: ``step/commit``, ``tool/call``,
``turn/steer`` (requests); ``ready``, ``heartbeat``, ``turn/delta`` (notifications).
Supervisor to zygote: ``fork``, ``reap``, ``ping`` (requests); zygote to supervisor: ``ready``.
"""

from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import Field, SkipValidation

from thinker.protocol.environments import Environments
from thinker.protocol.messages import (
    AUTO,
    AssistantMessage,
    Frozen,
    JsonObject,
    LayerRecord,
    Message,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from thinker.protocol.prompt_record import PromptRecord
from thinker.protocol.vectors import Vector

Finish: TypeAlias = Literal["done", "length", "refused"]  # why a model response ended

# How a prompt is made.
Recipe: TypeAlias = Literal["interactive", "proactive", "subagent", "request"]

TURN_RUN = "turn/run"
TURN_CANCEL = "turn/cancel"
PROMPT_PREVIEW = "prompt/preview"
PROMPT_RENDER = "prompt/render"
DRAIN = "drain"
STEP_COMMIT = "step/commit"
TOOL_CALL = "tool/call"
TURN_STEER = "turn/steer"
READY = "ready"
HEARTBEAT = "heartbeat"
TURN_DELTA = "turn/delta"
FORK = "fork"
REAP = "reap"
PING = "ping"


class StopReason(StrEnum):
    """Why a turn's loop ended; every end has one."""

    DONE = "done"
    MAX_STEPS = "max_steps"
    MAX_TOKENS = "max_tokens"
    DEADLINE = "deadline"
    LENGTH = "length"  # the provider cut the answer at its output limit
    REFUSED = "refused"
    HANDED_BACK = "handed_back"  # calls of tools that whoever asked runs; they go on with results
    EMPTY = "empty"  # the model said nothing, twice
    MODEL_ERROR = "model_error"
    OUTPUT = "output"  # no answer fitted the output that the prompt asks for
    TOOL_CHOICE = "tool_choice"  # the model did not make the call that it had to make
    ACCOUNT = "account"  # the key is refused or has no credit left: the turn waits for a person
    DRAINED = "drained"  # stopped at a step boundary; the turn goes on in another process


class ChatRef(Frozen):
    """The chat of a turn; ``private`` is a chat with one person (replies are streamed there)."""

    channel: str
    chat_id: str
    thread_id: str | None = None
    private: bool = True


class Memory(Frozen):
    """A fact to show to the model."""

    fact: str
    category: str


class ListedSkill(Frozen):
    """A skill without keywords: the prompt only names it."""

    name: str
    description: str


class RecordedCall(Frozen):
    """One tool call of a recorded step: its journal number and, once it ended, its result."""

    seq: int
    result: ToolResult | None = None


class RecordedStep(Frozen):
    """One step read back from the journal: the response and, in its order, the calls in it.

    ``entered`` are messages that came while the turn ran and were given to its model after this
    step. One that no model was ``asked`` for is what the operator has called before the first.
    """

    seq: int
    asked: bool = True
    response: AssistantMessage
    finish: Finish = "done"
    usage: Usage = Usage()
    calls: tuple[RecordedCall, ...] = ()
    entered: tuple[UserMessage, ...] = ()


class RequestOptions(Frozen):
    """What a program that asks gives a turn beside the conversation (the HTTP endpoints).

    ``instructions`` stand at the end of the system prompt, ``output_schema`` is the JSON Schema of
    the answer; what is None is the agent's own. ``one_call``: of one response of the model, the
    first tool call counts alone.
    """

    instructions: tuple[str, ...] = ()
    output_schema: JsonObject | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    one_call: bool = False


class TurnRun(Frozen):
    """Everything a worker needs to run (or resume) one turn without calling back.

    ``started_at`` and ``deadline`` are seconds since the epoch; the prompt's clock is
    ``started_at``, so that a resumed turn rebuilds the same prompt. ``prompt`` is a `PromptBundle`
    in JSON (most agents have none, and their workers do not load its models), ``environments`` what
    its variables are set to outside of it. ``playbooks`` are records of the journal as
    `thinker.playbooks.parse_record` reads them; ``skills`` its skills that have no keywords.
    ``required_tools`` of a task are exactly those that it is offered; None selects them as for a
    message. ``max_steps`` None is the agent's own limit. ``tool_choice`` holds until it is met: the
    turn goes on with auto. ``vector`` is what the messages mean, empty when nobody knows. For the
    cached layout, ``context`` is what the newest message of this turn was already sent with (None:
    nothing was sent yet), ``offered`` are the tools of the session's turn before.
    ``messages`` may be empty when ``history`` ends with results of what whoever asked has run.
    ``keep`` and ``kept`` are numbers of `thinker.protocol.turn_cache`.
    """

    turn_id: str
    chat: ChatRef
    recipe: Recipe = "interactive"
    messages: tuple[UserMessage, ...]
    history: tuple[Message, ...] = ()
    summary: str | None = None
    profile_prompt: str | None = None
    prompt: JsonObject | None = None
    environments: Environments = Environments()
    memories: tuple[Memory, ...] = ()
    playbooks: tuple[SkipValidation[JsonObject], ...] = ()  # `parse_record` looks at them
    skills: tuple[ListedSkill, ...] = ()
    steps: tuple[RecordedStep, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    recent_tools: tuple[str, ...] = ()
    context: tuple[LayerRecord, ...] | None = None
    offered: tuple[str, ...] = ()
    required_tools: tuple[str, ...] | None = None
    max_steps: int | None = None
    tool_choice: ToolChoice = AUTO
    vector: Vector = b""
    asked: RequestOptions = RequestOptions()
    stream: bool = False
    steer: bool = False  # between two steps, ask for messages that came meanwhile
    started_at: float
    deadline: float
    keep: int = 0
    kept: int = 0


class PlannedCall(Frozen):
    """A tool call as it will run: coerced arguments, or why it cannot run."""

    id: str
    name: str
    arguments: JsonObject
    rejected: str | None = None


class StepCommitted(Frozen):
    """The step's journal number and, in the order of its calls, theirs.

    ``results`` are those of calls that needed nothing but the journal, by their numbers.
    ``changed`` is what the stable part of the prompt differs in from the session's turn before.
    """

    seq: int
    call_seqs: tuple[int, ...] = ()
    results: dict[int, ToolResult] = Field(default_factory=dict)
    changed: tuple[str, ...] = ()


class ToolCallParams(Frozen):
    """Run a call that is already in the journal; the arguments are read from there."""

    turn_id: str
    seq: int


class TurnSteer(Frozen):
    """Ask for the messages that came while this turn ran, to go on with them."""

    turn_id: str


class Steered(Frozen):
    """Messages that now belong to the turn, in order."""

    messages: tuple[UserMessage, ...] = ()


class TurnResult(Frozen):
    """How a turn ended. ``text`` is for the chat; ``error`` for the operator.

    ``repaired`` is an object that was made from an answer that was cut or no JSON.
    """

    text: str
    stop_reason: StopReason
    usage: Usage = Usage()
    steps: int = 0
    tools_used: tuple[str, ...] = ()
    error: str | None = None
    repaired: bool = False


class StepCommit(Frozen):
    """T3: a model response and every tool call in it, before any of them runs.

    ``response`` is verbatim; ``calls`` are its calls in the same order. One that ``ends`` the turn
    may be made durable together with T6.
    """

    turn_id: str
    response: AssistantMessage
    calls: tuple[PlannedCall, ...] = ()
    finish: Finish = "done"
    usage: Usage = Usage()
    model: str = ""
    request_id: str = ""
    prompt: PromptRecord | None = None  # sent with the first step of a process's run
    ends: TurnResult | None = None


class TurnDelta(Frozen):
    """The text of the answer so far (whole, not a difference): a view that nothing depends on."""

    turn_id: str
    text: str


class TurnCancel(Frozen):
    """Stop this turn now; its request ends with a cancellation error."""

    turn_id: str


class Ready(Frozen):
    """A worker can take turns."""

    pid: int
    provider: str
    model: str


class Heartbeat(Frozen):
    """The worker's event loop turns; ``open_turns`` is how many turns it is running."""

    open_turns: int


class Forked(Frozen):
    """A worker that was forked; it stays a zombie until it is asked for with ``reap``."""

    pid: int


class Reaped(Frozen):
    """How a worker ended: its exit code, or minus the signal."""

    code: int
