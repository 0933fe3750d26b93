"""The methods of the wire between supervisor and worker, with their parameters and results.

Supervisor to worker: ``turn/run``, ``prompt/preview``, ``prompt/render`` (requests);
``turn/cancel``, ``drain`` (notifications). Worker to supervisor: ``step/commit``, ``tool/call``,
``turn/steer`` (requests); ``ready``, ``turn/delta``, ``stale`` (notifications). Supervisor
to any child: ``ping``. Supervisor to zygote: ``fork``, ``reap``; zygote to supervisor: ``ready``.

Tools, playbooks, skills and the prompt definition make up most of a `TurnRun` and change only when
someone edits them, so they are sent to each process once. The process keeps the newest set under a
number, to which later turns refer.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import Field, SkipValidation

from thinker.protocol.call_timing import CallTiming
from thinker.protocol.degradations import Degradation
from thinker.protocol.environments import Environments
from thinker.protocol.messages import (
    AUTO,
    AssistantMessage,
    Effort,
    Frozen,
    JsonObject,
    LayerRecord,
    Message,
    Origin,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from thinker.protocol.peer import RpcError
from thinker.protocol.prompt_record import PromptRecord
from thinker.protocol.sandbox import SandboxReport
from thinker.protocol.vectors import Vector

# Why a response ended, or that it went back to the model as it claims what was not done.
Finish: TypeAlias = Literal["done", "length", "refused", "repeated", "returned"]
RETURNED: Finish = "returned"

# The kind of turn, which decides the layers of its prompt.
Recipe: TypeAlias = Literal["interactive", "proactive", "subagent", "request", "hook"]

TURN_RUN = "turn/run"
TURN_CANCEL = "turn/cancel"
PROMPT_PREVIEW = "prompt/preview"
PROMPT_RENDER = "prompt/render"
DRAIN = "drain"
STEP_COMMIT = "step/commit"
TOOL_CALL = "tool/call"
TURN_STEER = "turn/steer"
READY = "ready"
TURN_DELTA = "turn/delta"
STALE = "stale"  # a file or folder of the worker was replaced: only a new worker can read it
FORK = "fork"
REAP = "reap"
PING = "ping"


class StopReason(StrEnum):
    """The reason why a turn's loop ended."""

    DONE = "done"
    MAX_STEPS = "max_steps"
    MAX_TOKENS = "max_tokens"
    DEADLINE = "deadline"
    LENGTH = "length"  # the provider cut the answer at its output limit
    REFUSED = "refused"
    HANDED_BACK = "handed_back"  # calls for the API client, which continues with their results
    EMPTY = "empty"  # the model answered nothing, twice
    MODEL_ERROR = "model_error"
    OVERFLOW = "overflow"  # the request is longer than the model's context
    OUTPUT = "output"  # no answer matched the required output format
    TOOL_CHOICE = "tool_choice"  # the model did not make the required call
    ACCOUNT = "account"  # key refused or out of credit: the turn waits for a person
    DRAINED = "drained"  # stopped between steps; another process continues the turn


class ChatRef(Frozen):
    """The chat of a turn; a ``private`` chat has one person, and replies are streamed to it."""

    channel: str
    chat_id: str
    thread_id: str | None = None
    private: bool = True


class Memory(Frozen):
    """A fact to show to the model, true ``since`` a time (milliseconds), ``stored`` at another.

    A ``standing`` one is on the card, which is shown in all turns of a sitting.
    """

    fact: str
    category: str
    origin: Origin = "user"
    since: int | None = None
    stored: int | None = None
    standing: bool = False


class ListedSkill(Frozen):
    """A skill without keywords, which the prompt only names."""

    name: str
    description: str
    origin: Origin = "user"


class RecordedCall(Frozen):
    """One tool call of a recorded step: its journal number and, once it ended, its result."""

    seq: int
    result: ToolResult | None = None


class RecordedStep(Frozen):
    """One step read back from the journal: the response and its calls, in order.

    ``entered`` are messages that arrived during the turn and joined it after this step. ``asked``
    is False for a step that no model produced: calls that the operator configured to run first.
    """

    seq: int
    asked: bool = True
    response: AssistantMessage
    finish: Finish = "done"
    usage: Usage = Usage()
    calls: tuple[RecordedCall, ...] = ()
    entered: tuple[UserMessage, ...] = ()

    def replace_results(self, changed: Callable[[ToolResult], ToolResult]) -> "RecordedStep":
        """Return the step with ``changed`` applied to each result of its calls."""
        calls = tuple(
            call
            if call.result is None
            else call.model_copy(update={"result": changed(call.result)})
            for call in self.calls
        )
        return self.model_copy(update={"calls": calls})


class RequestOptions(Frozen):
    """Options of an API request, besides its conversation, or of a task.

    ``instructions`` go at the end of the system prompt; ``output_schema`` is the JSON Schema of the
    answer. None means the agent's own setting. With ``one_call`` only the first tool call of each
    model response counts.
    """

    instructions: tuple[str, ...] = ()
    output_schema: JsonObject | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    effort: Effort | None = None
    one_call: bool = False


EVERY = "*"  # in `TurnRun.renewed`
# Of a `TurnRun`: what its kind of turn decides, and not the journal's other rows.
OF_ITS_KIND = {"recipe", "required_tools", "max_steps", "tool_choice", "asked", "stream", "steer"}


class TurnRun(Frozen):
    """Everything a worker needs to run or resume one turn, without calling back.

    * ``started_at``, ``deadline``: seconds since the epoch. The prompt's clock is ``started_at``,
      so that a resumed turn rebuilds the same prompt.
    * ``messages``: may be empty if ``history`` ends with tool results from an API client.
    * ``prompt``: a `PromptBundle` as JSON; most agents have none, and their workers never load its
      models. ``environments`` holds the values of its variables.
    * ``playbooks``: journal records for `thinker.playbooks.parse_record`. ``skills``: the journal's
      skills without keywords.
    * ``required_tools``: exactly the tools of a scheduled task; None selects tools by the message.
    * ``max_steps``: None uses the agent's limit.
    * ``tool_choice``: applies until it is met; the turn continues with auto.
    * ``vector``: the embedding of the messages; empty if unknown.
    * ``…_origin``: who wrote the text; text of others goes into the newest message, as a quotation.
    * ``context``, ``offered`` (cached layout): the layers already sent with the newest message
      (None: not sent yet), and the tools of the session's previous turn.
    * ``given``: a recorded prompt to send again, but for the layers named in ``renewed`` (``tools``
      are chosen again by that name, and ``*`` stands for all), which are made from the turn.
    * ``keep``, ``kept``: see `thinker.protocol.methods`.
    """

    turn_id: str
    chat: ChatRef
    recipe: Recipe = "interactive"
    messages: tuple[UserMessage, ...]
    history: tuple[Message, ...] = ()
    summary: str | None = None
    summary_origin: Origin = "user"
    profile_prompt: str | None = None
    profile_origin: Origin = "user"
    prompt: JsonObject | None = None
    environments: Environments = Environments()
    memories: tuple[Memory, ...] = ()
    playbooks: tuple[SkipValidation[JsonObject], ...] = ()  # `parse_record` validates them
    skills: tuple[ListedSkill, ...] = ()
    steps: tuple[RecordedStep, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    recent_tools: tuple[str, ...] = ()
    context: tuple[LayerRecord, ...] | None = None
    offered: tuple[str, ...] = ()
    required_tools: tuple[str, ...] | None = None
    max_steps: int | None = None
    tool_choice: ToolChoice = AUTO
    vector: Vector | None = None
    asked: RequestOptions = RequestOptions()
    stream: bool = False
    steer: bool = False  # whether new messages may join between steps
    started_at: float
    deadline: float
    given: PromptRecord | None = None
    renewed: tuple[str, ...] = ()
    keep: int = 0
    kept: int = 0

    def dump_for_record(self) -> JsonObject:
        """Return what the journal has nowhere else, to run the turn once more."""
        return self.model_dump(mode="json", exclude_defaults=True, include=OF_ITS_KIND)


class PlannedCall(Frozen):
    """A tool call as it will run, with coerced arguments, or the reason why it cannot run."""

    id: str
    name: str
    arguments: JsonObject
    rejected: str | None = None


class StepCommitted(Frozen):
    """The journal numbers of a step and of its calls, in order.

    ``results`` holds the results of calls that the journal could answer, keyed by number.
    ``changed`` names the stable layers that differ from the session's previous turn, and ``tools``
    if they differ. An answer that was to go back to the model ``stands`` if no further call may be
    made.
    """

    seq: int
    call_seqs: tuple[int, ...] = ()
    results: dict[int, ToolResult] = Field(default_factory=dict)
    changed: tuple[str, ...] = ()
    stands: bool = False


class ToolCallParams(Frozen):
    """A request to run a call that is already in the journal, which has its arguments."""

    turn_id: str
    seq: int


class TurnSteer(Frozen):
    """A request for the messages that arrived while this turn ran."""

    turn_id: str


class JoinedMessages(Frozen):
    """The messages that now belong to the turn, in order."""

    messages: tuple[UserMessage, ...] = ()


class TurnResult(Frozen):
    """The outcome of a turn. ``text`` is for the chat, ``error`` for the operator.

    A ``notice`` is a text of the daemon, which no model reads: the model gave no answer.
    ``repaired`` says whether the answer's JSON was cut off or malformed, and had to be repaired.
    ``degraded`` is what a failed model call did without; that of other calls is in their steps.
    """

    text: str
    stop_reason: StopReason
    usage: Usage = Usage()
    steps: int = 0
    tools_used: tuple[str, ...] = ()
    error: str | None = None
    notice: bool = False
    repaired: bool = False
    degraded: tuple[Degradation, ...] = ()


class StepCommit(Frozen):
    """T3: a model response and all its tool calls, committed before any of them runs.

    ``response`` is verbatim; ``calls`` are its calls in the same order. A step with ``ends`` ends
    the turn, so that T6 may share its transaction. ``call_ids`` identify the model's calls
    for the broker, whose figures replace ``usage``. A step that needed no model has no ``timing``.
    """

    turn_id: str
    response: AssistantMessage
    calls: tuple[PlannedCall, ...] = ()
    finish: Finish = "done"
    usage: Usage = Usage()
    model: str = ""
    request_id: str = ""
    call_ids: tuple[str, ...] = ()
    timing: CallTiming | None = None
    prompt: PromptRecord | None = None  # sent with the process's first step of the turn
    degraded: tuple[Degradation, ...] = ()
    ends: TurnResult | None = None


class TurnEnded(Frozen):
    """The end of a turn: its result, or the step with the result, which is yet to be committed."""

    result: TurnResult | None = None
    step: StepCommit | None = None

    @property
    def turn_result(self) -> TurnResult:
        """The result of the turn.

        Raises:
            ValueError: the worker sent no result.
        """
        result = self.result if self.step is None else self.step.ends
        if result is None:
            raise ValueError("a turn ended without a result")
        return result


class TurnDelta(Frozen):
    """The answer's whole text so far, for display only."""

    turn_id: str
    text: str


class TurnCancel(Frozen):
    """An order to stop this turn now; its request ends with a cancellation error."""

    turn_id: str


class Ready(Frozen):
    """The notification that a worker can take turns."""

    pid: int
    provider: str
    model: str
    sandbox: SandboxReport = SandboxReport()


class ForkedWorker(Frozen):
    """A forked worker; after it exits it stays a zombie until ``reap``."""

    pid: int


class ReapedWorker(Frozen):
    """A worker's exit code, or the negative number of the signal that killed it."""

    code: int


NOT_KEPT = -32004  # error code: send the turn whole
NOTHING = {"prompt": None, "playbooks": (), "skills": (), "tools": ()}


class SentTurnCache:
    """The supervisor's record of the parts that one process keeps."""

    def __init__(self) -> None:
        self._number = 0
        self._parts: list[object] = []

    def shorten_turn(self, run: TurnRun) -> TurnRun:
        """Return the turn without parts that the process keeps, or whole with a new number."""
        parts = [getattr(run, name) for name in NOTHING]
        if parts != self._parts:
            self._number, self._parts = self._number + 1, parts
            return run.model_copy(update={"keep": self._number})
        return run.model_copy(update={**NOTHING, "kept": self._number})

    def forget_parts(self) -> None:
        """Forget the sent parts, so that the next turn is sent whole."""
        self._parts = []


class ReceivedTurnCache:
    """The process's copy of the shared parts."""

    def __init__(self) -> None:
        self._number = 0
        self._parts: dict[str, object] = {}

    def restore_turn(self, run: TurnRun) -> TurnRun:
        """Return the turn with the shared parts filled in.

        Raises:
            RpcError: ``NOT_KEPT``: this process does not have the parts that the turn refers to.
        """
        if run.keep:
            self._number = run.keep
            self._parts = {name: getattr(run, name) for name in NOTHING}
        if not run.kept:
            return run
        if run.kept != self._number:
            problem = f"the shared parts {run.kept} are not here; send the turn whole"
            raise RpcError(NOT_KEPT, problem)
        return run.model_copy(update=self._parts)
