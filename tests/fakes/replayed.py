"""Recorded turns without a journal, and what a trial needs to run them in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fakes.scripted import spec

from orchestrator.extensions.workbench.matching import CallKey, compute_call_digest
from orchestrator.extensions.workbench.recorded_parts import RecordedPart
from orchestrator.extensions.workbench.recorded_turns import (
    MadeCall,
    MadeRequest,
    RecordedTurn,
)
from orchestrator.extensions.workbench.trial_host import CallAnswer, TrialHost
from thinker.protocol.call_timing import CallAttempt, CallTiming
from thinker.protocol.messages import (
    AUTO,
    AssistantMessage,
    JsonObject,
    LayerRecord,
    SideEffect,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from thinker.protocol.methods import (
    ChatRef,
    PlannedCall,
    RecordedStep,
    StepCommit,
    TurnResult,
    TurnRun,
)
from thinker.protocol.prompt_record import ModelSettings, PromptRecord

MODEL = "openai/gpt-5-mini"
LOOK = spec("look", SideEffect.PURE, q="string")
MAIL = spec("send_mail", to="string")
CHAT = ChatRef(channel="telegram", chat_id="7")
SETTINGS = ModelSettings(model=MODEL, temperature=0.4, tool_choice=AUTO, parallel=True)
PROMPT = PromptRecord(
    layers=(LayerRecord(name="base", text="Be brief."), LayerRecord(name="chat", text="chat 7")),
    settings=SETTINGS,
    tools=("look", "send_mail"),
)


def made(name: str, result: str | None = "done", **arguments: str) -> MadeCall:
    """A recorded call; those of `look` have no effect."""
    given: JsonObject = {**arguments}
    return MadeCall(
        name=name,
        arguments=given,
        digest=compute_call_digest(name, given),
        effect=name != "look",
        result=None if result is None else ToolResult(call_id="old", name=name, content=result),
    )


def replayed(*answers: str | MadeCall | Sequence[MadeCall], **fields: object) -> RecordedTurn:
    """A recorded turn with one request for each answer: words, a call or several calls."""
    requests, steps = [], []
    for place, answer in enumerate(answers):
        text = answer if isinstance(answer, str) else ""
        calls = () if isinstance(answer, str) else answer
        calls = (calls,) if isinstance(calls, MadeCall) else tuple(calls)
        requests.append(
            MadeRequest(
                place=place,
                part=0,
                model=MODEL,
                text=text,
                calls=calls,
                usage=Usage(prompt=100, completion=10, cached=40),
                digest=f"digest {place}",
            )
        )
        steps.append(RecordedStep(seq=place * 10 + 1, response=AssistantMessage(content=text)))
    part = RecordedPart(
        at=1,
        agent_id="work",
        record=PROMPT,
        settings={"llm_provider": "openai", "model": "gpt-5-mini"},
        tools=(LOOK, MAIL),
        messages=(UserMessage(content="hello"),),
        steps=tuple(steps),
    )
    turn = RecordedTurn(
        turn_id="t1",
        agent_id="work",
        session_id=1,
        scope="telegram:7",
        chat=CHAT,
        senders=("telegram:7",),
        question="hello",
        started_at=1_770_000_000_000,
        parts=(part,),
        requests=tuple(requests),
    )
    return turn.model_copy(update=fields)


def run_of(*tools: ToolSpec) -> TurnRun:
    """A run of a trial that offers these tools; by default one with an effect and one without."""
    return TurnRun(
        turn_id="trial/1/t1/1",
        chat=CHAT,
        messages=(UserMessage(content="hello"),),
        tools=tools or (LOOK, MAIL),
        started_at=1.0,
        deadline=2.0,
    )


def answered(
    text: str = "", *calls: tuple[str, JsonObject], digest: str = "", rejected: str | None = None
) -> StepCommit:
    """What a worker commits: words that end the turn, or calls."""
    ids = [f"new{number}" for number in range(len(calls))]
    named = [*zip(ids, calls, strict=True)]
    attempt = CallAttempt(model=MODEL, began=0, ended=5, status=200, digest=digest)
    ended = None if calls else TurnResult(text=text, stop_reason="done")
    return StepCommit(
        turn_id="trial/1/t1/1",
        response=AssistantMessage(
            content=text,
            tool_calls=tuple(ToolCall(id=i, name=n, arguments=a) for i, (n, a) in named),
        ),
        calls=tuple(
            PlannedCall(id=i, name=n, arguments=a, rejected=rejected) for i, (n, a) in named
        ),
        usage=Usage(prompt=100, completion=10),
        model=MODEL,
        timing=CallTiming(began=0, ended=5, attempts=(attempt,)),
        ends=ended,
    )


@dataclass
class FullPurse:
    """Pays for everything, but no call after ``limit`` of them."""

    limit: int = 100
    settled: list[StepCommit] = field(default_factory=list)

    async def settle_step(self, commit: StepCommit) -> float | None:
        """Count it."""
        self.settled.append(commit)
        return 0.5

    async def reserve_step(self, number: int) -> str:
        """Allow it up to the limit."""
        return "" if number < self.limit else "the money is spent"


async def answer_nothing(call: PlannedCall, key: CallKey) -> CallAnswer:
    """Answer no call."""
    return CallAnswer("none", reason=f"{call.name} has no record ({key.format_key()})")


def host_of(turn: RecordedTurn, **fields: object) -> TrialHost:
    """A host of a run that answers from the record alone."""
    given = {
        "turn": turn,
        "run": run_of(),
        "purse": FullPurse(),
        "find_first": answer_nothing,
        "find_last": answer_nothing,
        **fields,
    }
    return TrialHost(**given)  # type: ignore[arg-type]
