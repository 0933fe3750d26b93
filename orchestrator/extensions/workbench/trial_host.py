"""Serve a worker that runs a recorded turn again: answer its calls from the record, keep its steps.

Nothing that it does reaches a table of turns, a tool or a chat.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from orchestrator.control.trials import ResultSource, TriedCall, TriedStep
from orchestrator.extensions.workbench.matching import (
    CallKey,
    CallMatcher,
    compute_call_digest,
    shorten_result,
)
from orchestrator.extensions.workbench.recorded_turns import RecordedTurn
from orchestrator.prompts.prompt_tools import apply_fixed_options
from thinker.formats.prompts.bundle import PromptBundle
from thinker.protocol.messages import SideEffect, ToolResult, UserMessage
from thinker.protocol.methods import (
    PlannedCall,
    RecordedCall,
    RecordedStep,
    StepCommit,
    StepCommitted,
    TurnRun,
)
from thinker.protocol.peer import FENCED, RpcError

HANDED_OVER = "the chat was handed over to {agent}, and a trial ends there"
UNKNOWN_CALL = "the worker asked for a call that it did not make"


class CallAnswer(NamedTuple):
    """What answers a call: a result, or the reason why the run stops there."""

    source: ResultSource
    result: ToolResult | None = None
    reason: str = ""


AnswerCall = Callable[[PlannedCall, CallKey], Awaitable[CallAnswer]]


class StepPurse(Protocol):
    """Pays for the model calls of one run."""

    async def settle_step(self, commit: StepCommit) -> float | None:
        """Count what a call has used; return its cost in dollars, if its price is known."""

    async def reserve_step(self, number: int) -> str:
        """Reserve the call ``number``, from 0; return why it is refused, if so."""


@dataclass(eq=False, kw_only=True)
class TrialHost:
    """Serves a worker in one run of a recorded ``turn`` (`orchestrator.processes.worker`).

    ``find_first`` answers calls before the record is asked, ``find_last`` those that it cannot
    answer. ``first`` is the number of the first request that is not kept as recorded. ``steps`` are
    the steps so far and ``raw`` the same as a worker resumes them.
    ``stopped`` is why the run ended early, ``unanswered`` says that a call without a result is the
    reason, and ``spent`` that money is.
    """

    turn: RecordedTurn
    run: TurnRun
    purse: StepPurse
    find_first: AnswerCall
    find_last: AnswerCall
    bundle: PromptBundle | None = None
    first: int = 0
    steps: list[TriedStep] = field(default_factory=list)
    raw: list[RecordedStep] = field(default_factory=list)
    stopped: str = field(default="", init=False)
    unanswered: bool = field(default=False, init=False)
    spent: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.matcher = CallMatcher(self.turn.calls)
        self._effects = {tool.name: tool.side_effect for tool in self.run.tools}
        self._handed = {tool.name for tool in self.run.tools if tool.handed_back}
        self._open: dict[int, tuple[PlannedCall, CallKey]] = {}
        self._taken = 0
        kept = self.turn.requests[: self.first]
        for call in (call for request in kept for call in request.calls):
            self.matcher.record_call(call.name, call.digest, effect=call.effect)
        for step, raw in zip(self.steps, self.raw, strict=True):
            self._resume_step(step, raw)

    def _resume_step(self, step: TriedStep, raw: RecordedStep) -> None:
        """Note the calls of a step that an earlier run has made."""
        for tried, recorded in zip(step.calls, raw.calls, strict=False):
            digest = compute_call_digest(tried.name, tried.arguments)
            key = self.matcher.record_call(tried.name, digest, effect=tried.effect)
            if recorded.result is None:
                call = PlannedCall(id=tried.key, name=tried.name, arguments=tried.arguments)
                self._open[recorded.seq] = call, key

    @property
    def number(self) -> int:
        """The number of the next request, from 0."""
        return self.first + len(self.steps)

    # --- requests of the worker ----------------------------------------------------------------

    async def commit_step(self, commit: StepCommit) -> StepCommitted:
        """Keep a step, and answer its calls."""
        number = self.number
        usd = await self.purse.settle_step(commit)
        commit = apply_fixed_options(self.bundle, commit, self._handed)
        seq = 1 + max((one.seq + len(one.calls) for one in (*self.run.steps, *self.raw)), default=0)
        seqs = tuple(range(seq + 1, seq + 1 + len(commit.calls)))
        tried, results = list[TriedCall](), dict[int, ToolResult]()
        for call_seq, call in zip(seqs, commit.calls, strict=True):
            made, result = await self._try_call(call)
            tried.append(made)
            if result is not None:
                results[call_seq] = result
        self._keep_step(commit, tuple(tried), number, usd)
        calls = tuple(RecordedCall(seq=one, result=results.get(one)) for one in seqs)
        self.raw.append(
            RecordedStep(
                seq=seq,
                response=commit.response,
                finish=commit.finish,
                usage=commit.usage,
                calls=calls,
            )
        )
        if commit.ends is None and not self.stopped:
            await self._prepare_next_step(number)
        if self.stopped:
            raise RpcError(FENCED, self.stopped)
        return StepCommitted(seq=seq, call_seqs=seqs, results=results)

    async def call_tool(self, seq: int) -> ToolResult:
        """Answer a call of a step that an earlier run has made, if it can be by now."""
        call, key = self._open.get(seq, (None, None))
        if call is None or key is None:
            raise RpcError(FENCED, UNKNOWN_CALL)
        answer = await self._answer_call(call, key)
        place = next(n for n, one in enumerate(self.raw) if seq in [c.seq for c in one.calls])
        raw, step = self.raw[place], self.steps[place]
        if answer.result is None:
            self._stop_unanswered(answer.reason)
            raise RpcError(FENCED, self.stopped)
        found = answer.result
        nth = [one.seq for one in raw.calls].index(seq)
        found = found.model_copy(update={"call_id": raw.response.tool_calls[nth].id})
        calls = (*raw.calls[:nth], RecordedCall(seq=seq, result=found), *raw.calls[nth + 1 :])
        self.raw[place] = raw.model_copy(update={"calls": calls})
        text = shorten_result(found.content)
        said = {"source": answer.source, "result": text, "failed": found.is_error}
        shown = step.calls[nth].model_copy(update=said)
        self.steps[place] = step.model_copy(
            update={"calls": (*step.calls[:nth], shown, *step.calls[nth + 1 :])}
        )
        return found

    async def take_new_messages(self) -> tuple[UserMessage, ...]:
        """Return the messages that joined the recorded turn after the same request."""
        number = self.number
        if number <= self._taken or number > len(self.turn.requests):
            return ()
        self._taken = number
        request = self.turn.requests[number - 1]
        entered = self.turn.parts[request.part].steps[request.place].entered
        if entered and self.raw:
            self.raw[-1] = self.raw[-1].model_copy(update={"entered": entered})
        return entered

    def show_partial_answer(self, text: str) -> None:
        """Show nothing."""

    # --- calls -----------------------------------------------------------------------------------

    async def _try_call(self, call: PlannedCall) -> tuple[TriedCall, ToolResult | None]:
        """Return a call as the report has it, and its result."""
        digest = compute_call_digest(call.name, call.arguments)
        effect = self._effects.get(call.name, SideEffect.NON_IDEMPOTENT) is not SideEffect.PURE
        if call.rejected is not None:
            key = CallKey(call.name, digest, 0)
            answer = CallAnswer("rejected", reason=call.rejected)
        else:
            key = self.matcher.record_call(call.name, digest, effect=effect)
            handed = call.name in self._handed  # its result would come with another request
            answer = CallAnswer("none") if handed else await self._answer_call(call, key)
            if answer.result is None and not handed:
                self._stop_unanswered(answer.reason)
        result = answer.result
        made = TriedCall(
            name=call.name,
            arguments=call.arguments,
            key=key.format_key(),
            effect=effect,
            source=answer.source,
            result=answer.reason if result is None else shorten_result(result.content),
            failed=result.is_error if result is not None else call.rejected is not None,
        )
        return made, result

    async def _answer_call(self, call: PlannedCall, key: CallKey) -> CallAnswer:
        answer = await self.find_first(call, key)
        if answer.source == "none":
            found = self.matcher.find_call(key)
            if found is not None and found.call.result is not None:
                answer = CallAnswer("stale" if found.stale else "recorded", found.call.result)
            else:
                answer = await self.find_last(call, key)
        if answer.result is None:
            return answer
        return answer._replace(result=answer.result.model_copy(update={"call_id": call.id}))

    def _stop_unanswered(self, reason: str) -> None:
        self.stopped = self.stopped or reason
        self.unanswered = True

    # --- steps -----------------------------------------------------------------------------------

    def _keep_step(
        self, commit: StepCommit, calls: tuple[TriedCall, ...], number: int, usd: float | None
    ) -> None:
        requests, timing = self.turn.requests, commit.timing
        digest = timing.attempts[-1].digest if timing and timing.attempts else ""
        recorded = requests[number].digest if number < len(requests) else ""
        exact = digest == recorded if digest and recorded else None
        if number >= len(requests) and digest:
            exact = False
        self.steps.append(
            TriedStep(
                model=commit.model,
                text=commit.response.content,
                calls=calls,
                prompt=commit.usage.prompt,
                completion=commit.usage.completion,
                cached=commit.usage.cached,
                usd=usd,
                ms=0 if timing is None else timing.ended - timing.began,
                exact=exact,
                differs="the record has no such request" if number >= len(requests) else "",
            )
        )

    async def _prepare_next_step(self, number: int) -> None:
        """Stop the run at a handoff, or without money for the next call."""
        turn = self.turn
        if number + 1 < len(turn.requests):
            now, then = (turn.parts[turn.requests[n].part] for n in (number, number + 1))
            if now.agent_id != then.agent_id:
                self.stopped = HANDED_OVER.format(agent=then.agent_id)
                return
        refused = await self.purse.reserve_step(number + 1)
        if refused:
            self.stopped, self.spent = refused, True
