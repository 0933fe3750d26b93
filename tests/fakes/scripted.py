"""A model that follows a script, and a host that keeps a turn in memory.

`ScriptedModel` is asked in order; an entry of its script is a response, an error to raise, or a
function of the request (which may wait for an event). `MemoryHost` numbers and keeps commits as
the journal does, and answers tool calls by their arguments as committed.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from thinker.models.base import ModelRequest, ModelResponse, RehearsedRequest
from thinker.protocol.messages import (
    AssistantMessage,
    JsonObject,
    Message,
    SideEffect,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from thinker.protocol.methods import (
    ChatRef,
    Finish,
    PlannedCall,
    RecordedCall,
    RecordedStep,
    StepCommit,
    StepCommitted,
    TurnRun,
)

Answer = Callable[[ModelRequest], Awaitable[ModelResponse]]
Tool = Callable[[JsonObject], Awaitable[str]]
USAGE = Usage(prompt=10, completion=5)
NAME = "scripted/model"
NOON = 1_770_924_600.0  # 2026-02-12 19:30 UTC, the seed's example


def says(text: str = "", *, finish: Finish = "done") -> ModelResponse:
    """A response of text."""
    return ModelResponse(AssistantMessage(content=text), USAGE, finish)


def calls(*wanted: ToolCall, text: str = "") -> ModelResponse:
    """A response that asks for tools."""
    return ModelResponse(AssistantMessage(content=text, tool_calls=wanted), USAGE)


def call(call_id: str, name: str, **arguments: str | float | None) -> ToolCall:
    """A tool call with arguments."""
    return ToolCall(id=call_id, name=name, arguments={**arguments})


def spec(name: str, side_effect: SideEffect = SideEffect.NON_IDEMPOTENT, **types: str) -> ToolSpec:
    """A tool whose required parameters have these JSON types."""
    parameters: JsonObject = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in types.items()},
        "required": list(types),
    }
    return ToolSpec(
        name=name, description=f"Does {name}.", parameters=parameters, side_effect=side_effect
    )


def turn_run(text: str = "hello", *tools: ToolSpec, **fields: object) -> TurnRun:
    """A turn that began at the seed's noon; ``fields`` replace its fields."""
    turn = TurnRun(
        turn_id="t1",
        chat=ChatRef(channel="console", chat_id="123456789"),
        messages=(UserMessage(content=text),),
        tools=tools,
        started_at=NOON,
        deadline=NOON * 2,
    )
    return turn.model_copy(update=fields)


class ScriptedModel:
    """Answers by its script; ``requests`` holds what it was asked, ``rehearsed`` what it showed."""

    name = NAME

    def __init__(self, *script: ModelResponse | Exception | Answer) -> None:
        self._script = list(script)
        self.requests: list[ModelRequest] = []
        self.rehearsed: list[ModelRequest] = []
        self.closed = False

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The next entry of the script; an assertion error when there is none."""
        if request.rehearsed:
            self.rehearsed.append(request)
            raise RehearsedRequest(b"")
        self.requests.append(request)
        assert self._script, "the model was asked once too often"
        entry = self._script.pop(0)
        if isinstance(entry, Exception):
            raise entry
        return entry if isinstance(entry, ModelResponse) else await entry(request)

    async def aclose(self) -> None:
        """Remember that it was closed."""
        self.closed = True


@dataclass(frozen=True)
class Committed:
    """A step as `MemoryHost` keeps it."""

    seq: int
    call_seqs: tuple[int, ...]
    step: StepCommit


class MemoryHost:
    """Keeps a turn: ``commits`` in order, ``ran`` the calls in the order in which they began.

    A tool without an entry in ``tools`` answers with its own name; ``drain_after`` steps the host
    drains.
    """

    def __init__(
        self, tools: Mapping[str, Tool] | None = None, *, drain_after: int | None = None
    ) -> None:
        self._tools = dict(tools or {})
        self.drain_after = drain_after
        self.commits: list[Committed] = []
        self.planned: dict[int, PlannedCall] = {}
        self.results: dict[int, ToolResult] = {}
        self.ran: list[int] = []
        self.shown: list[str] = []
        self.waiting: list[UserMessage] = []
        self._entered: dict[int, tuple[UserMessage, ...]] = {}

    async def commit_step(self, commit: StepCommit) -> StepCommitted:
        """T3."""
        seq = 1 + max((max((c.seq, *c.call_seqs)) for c in self.commits), default=0)
        seqs = tuple(range(seq + 1, seq + 1 + len(commit.calls)))
        self.commits.append(Committed(seq, seqs, commit))
        self.planned |= dict(zip(seqs, commit.calls, strict=True))
        for number, planned in zip(seqs, commit.calls, strict=True):
            if planned.rejected is not None:
                self.results[number] = _result(planned, planned.rejected, is_error=True)
        return StepCommitted(seq=seq, call_seqs=seqs)

    async def call_tool(self, seq: int) -> ToolResult:
        """Run a committed call, once."""
        assert seq not in self.results, "a call with a result must not run again"
        assert seq not in self.ran, "a call must not run twice"
        planned = self.planned[seq]
        self.ran.append(seq)
        tool = self._tools.get(planned.name)
        content = planned.name if tool is None else await tool(planned.arguments)
        self.results[seq] = _result(planned, content, is_error=False)
        return self.results[seq]

    async def take_new_messages(self) -> tuple[UserMessage, ...]:
        """What a test has put there; each message once, after the newest step."""
        entered, self.waiting = tuple(self.waiting), []
        if entered:
            self._entered[self.commits[-1].seq] = entered
        return entered

    def show_partial_answer(self, text: str) -> None:
        """Keep what was shown."""
        self.shown.append(text)

    def is_draining(self) -> bool:
        """Whether the steps that were allowed are done."""
        return self.drain_after is not None and len(self.commits) >= self.drain_after

    def recorded(self, keep: Callable[[int], bool] = lambda _: True) -> tuple[RecordedStep, ...]:
        """The turn as the journal gives it back; ``keep`` says which results survived."""
        return tuple(
            RecordedStep(
                seq=committed.seq,
                response=committed.step.response,
                finish=committed.step.finish,
                usage=committed.step.usage,
                calls=tuple(
                    RecordedCall(seq=seq, result=self.results.get(seq) if keep(seq) else None)
                    for seq in committed.call_seqs
                ),
                entered=self._entered.get(committed.seq, ()),
            )
            for committed in self.commits
        )

    def resumed(self, recorded: Iterable[RecordedStep]) -> "MemoryHost":
        """A host for the next process: it knows the plans and the results that survived."""
        host = MemoryHost(self._tools)
        host.commits, host.planned = list(self.commits), dict(self.planned)
        host.results = {
            made.seq: made.result
            for step in recorded
            for made in step.calls
            if made.result is not None
        }
        return host


def well_formed(messages: Iterable[Message]) -> bool:
    """Whether every call has exactly one result directly after it, in order, with its own id."""
    seen: set[str] = set()
    waiting: list[tuple[str, str]] = []
    for message in messages:
        if isinstance(message, ToolResult):
            if not waiting or waiting.pop(0) != (message.call_id, message.name):
                return False
            continue
        if waiting:
            return False
        if isinstance(message, AssistantMessage):
            if not message.content.strip() and not message.tool_calls:
                return False
            waiting = [(made.id, made.name) for made in message.tool_calls]
            if len({made_id for made_id, _ in waiting} - seen) != len(waiting):
                return False
            seen |= {made_id for made_id, _ in waiting}
    return not waiting


def _result(planned: PlannedCall, content: str, *, is_error: bool) -> ToolResult:
    return ToolResult(call_id=planned.id, name=planned.name, content=content, is_error=is_error)
