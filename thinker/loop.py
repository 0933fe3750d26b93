"""The tool loop: query the model, commit its response, execute the calls, repeat.

The loop knows a model, a host and limits, but no prompts, channels or journal. A response is
committed before any of its calls runs, and a recorded step is never requested again: resuming a
turn and retrying after a model failure are the same case.

Where: does the loop of model calls and tool calls run?
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import anyio
import structlog
from anyio import to_thread

from thinker import budget, history
from thinker.answers.review import AnswerReview, describe_false_claims
from thinker.answers.verdict import AnswerAccepted, AnswerValidator
from thinker.budget import TurnLimits, TurnUsage
from thinker.models.base import Model, ModelRequest, ModelResponse
from thinker.models.failures import format_headline
from thinker.protocol import messages, methods
from thinker.protocol.messages import AssistantMessage, Message, ToolResult, ToolSpec, UserMessage
from thinker.protocol.methods import PlannedCall, StopReason, TurnResult
from thinker.protocol.notices import CUT_NOTE, STOP_TEXTS
from thinker.protocol.prompt_record import TOOL_BLOCK, ModelSettings, PromptRecord
from thinker.toolcalls import arguments, markup
from thinker.toolcalls.choice import ToolChoiceState, find_choice_problem
from thinker.toolcalls.execution import execute_calls
from thinker.toolcalls.plan import limit_values, plan_calls, recover_calls
from thinker.toolcalls.select import list_found_tools
from thinker.worker_errors import AccountError, ContextOverflowError, FilteredError, ModelError

EMPTY_RETRIES = 1  # further calls after an empty answer

NO_SETTINGS = ModelSettings(model="", tool_choice=messages.AUTO, parallel=True)
REPEATED_NOTE = "\n\n(The model began to repeat itself, so its answer was ended here.)"
CUT_NOTES = {"length": CUT_NOTE, "repeated": REPEATED_NOTE}
SPARE = ("playbooks", "skills", "card", "memories")  # layers left out first if all do not fit
log = structlog.get_logger()


@dataclass(frozen=True)
class LoopRequest:
    """One turn, ready for the model."""

    turn_id: str
    prompt: PromptRecord
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    limits: TurnLimits
    stream: bool = False
    steer: bool = False  # whether messages may join between steps
    relax: bool = False  # send schemas that also accept "5" and "true"
    contract: AnswerValidator | None = None  # format of the final text
    one_call: bool = False  # only the first call of each response counts
    cache_key: str = ""  # equal for turns whose prompts begin alike
    rest: tuple[ToolSpec, ...] = ()  # tools that the model may find
    review: AnswerReview | None = None  # of the final text


class LoopHost(Protocol):
    """Interface through which the loop commits steps and runs tools."""

    async def commit_step(self, commit: methods.StepCommit) -> methods.StepCommitted:
        """T3: make a response and its calls durable, with T6 if it ends the turn."""

    async def call_tool(self, seq: int) -> ToolResult:
        """Run a committed call and return its durable result."""

    async def take_new_messages(self) -> tuple[UserMessage, ...]:
        """Return messages sent since the last step, which now belong to the turn."""

    def show_partial_answer(self, text: str) -> None:
        """Show the answer so far, for display only."""

    def is_draining(self) -> bool:
        """Return whether the turn must stop before the next step."""


class Loop:
    """One run of the loop over one turn."""

    def __init__(
        self,
        request: LoopRequest,
        model: Model,
        host: LoopHost,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._request = request
        self._model = model
        self._host = host
        self._clock = clock
        self._tools = {tool.name: tool for tool in (*request.tools, *request.rest)}
        self._offered = arguments.relax_tools(request.tools) if request.relax else request.tools
        self._transcript: list[Message] = list(request.messages)
        self._spent = TurnUsage()
        self._used: list[str] = []
        self._empty = 0
        self._rejections = 0
        self._returned: TurnResult | None = None  # an answer that went back to the model
        self._settings = request.prompt.settings or NO_SETTINGS
        self._tool_choice = ToolChoiceState(self._settings.tool_choice)
        self._handed_back = {tool.name for tool in request.tools if tool.handed_back}
        self._output = None if request.contract is None else request.contract.schema
        self._prompt: PromptRecord | None = request.prompt
        self._system = request.prompt.text
        self._spare = tuple(
            layer.text for name in SPARE for layer in request.prompt.layers if layer.name == name
        )

    async def run(self, recorded: Sequence[methods.RecordedStep] = ()) -> TurnResult:
        """Finish the recorded steps, then continue until the model answers or a limit is hit."""
        impossible = find_choice_problem(self._settings.tool_choice, self._tools)
        if impossible is not None:
            return self._end_unmet_choice(impossible)
        for step in recorded:
            calls = self._plan_calls(step.response)
            if step.asked:
                self._record_usage(step.usage, calls)
            seqs = [call.seq for call in step.calls]
            known = {call.seq: call.result for call in step.calls if call.result is not None}
            ended = await self._apply_response(step.response, calls, seqs, known, step.finish)
            if ended is not None:
                return ended
            self._transcript += step.entered
        while True:
            if self._host.is_draining():
                return self._build_result(StopReason.DRAINED, "")
            stop = budget.find_exceeded_limit(self._request.limits, self._spent, self._clock())
            if stop is not None:
                return self._end_unanswered(stop)
            if self._request.steer and self._spent.steps:
                self._transcript += await self._host.take_new_messages()
            ended = await self._run_step()
            if ended is not None:
                return ended

    async def _run_step(self) -> TurnResult | None:
        """Make one model call and run its tool calls; return a result if the turn ends."""
        response: ModelResponse | None = None
        request = self._build_model_request()
        try:
            with anyio.move_on_after(self._request.limits.deadline - self._clock()):
                response = await self._model.complete(request)
        except ModelError as error:
            log.warning("model_failed", model=self._model.name, error=str(error))
            if isinstance(error, AccountError):
                return self._build_result(
                    StopReason.ACCOUNT, format_headline(error), error=str(error)
                )
            ended = self._end_unanswered(
                _choose_stop_reason(error), str(error), error.format_notice()
            )
            return ended.model_copy(update={"degraded": error.degraded})
        if response is None:
            return self._end_unanswered(StopReason.DEADLINE)
        message = limit_values(recover_calls(response.message, self._tools, self._transcript))
        if self._request.one_call:  # the model may make the other calls next
            message = message.model_copy(update={"tool_calls": message.tool_calls[:1]})
        calls = self._plan_calls(message)
        usage = budget.resolve_usage(
            response.usage, lambda: (request.characters, len(message.model_dump_json()))
        )
        if request.reasoning is not None and not request.reasoning.is_recorded:
            message = message.model_copy(update={"reasoning": None, "extras": None})
        self._record_usage(usage, calls)
        last = self._find_final_result(message, response.finish)
        finish = self._choose_finish(response.finish, last)
        committed = await self._host.commit_step(
            methods.StepCommit(
                turn_id=self._request.turn_id,
                response=message,
                calls=calls,
                finish=finish,
                usage=usage,
                model=response.model or self._model.name,
                request_id=response.request_id,
                call_ids=response.call_ids,
                timing=request.meter.build_timing(),
                degraded=response.degraded,
                prompt=self._prompt and self._prompt.prepend_layer(TOOL_BLOCK, response.tool_block),
                ends=None if finish == methods.RETURNED else last,
            )
        )
        self._prompt = None
        if last is not None and (finish != methods.RETURNED or committed.stands):
            return last
        known = committed.results | {
            seq: ToolResult(call_id=call.id, name=call.name, content=call.rejected, is_error=True)
            for seq, call in zip(committed.call_seqs, calls, strict=True)
            if call.rejected is not None
        }
        return await self._apply_response(message, calls, committed.call_seqs, known, finish)

    def _build_model_request(self) -> ModelRequest:
        last = budget.is_last_step(self._request.limits, self._spent) and not self._handed_back
        closing = last or self._rejections > 0  # a retry needs only the answer
        return ModelRequest(
            system=self._system,
            messages=history.repair_history(
                self._transcript
            ),  # call ids may repeat across responses
            tools=self._offered,
            tool_choice=messages.NO_TOOLS if closing else self._tool_choice.choice,
            temperature=self._settings.temperature,
            reasoning=self._settings.reasoning,
            cache_key=self._request.cache_key,
            max_output_tokens=self._settings.max_output_tokens,
            output=self._output,
            spare=self._spare,
            on_text=markup.VisibleAnswer(self._host.show_partial_answer).follow
            if self._request.stream and not self._empty  # some servers lose calls in streams
            else None,
        )

    def _plan_calls(self, message: AssistantMessage) -> tuple[PlannedCall, ...]:
        last = budget.is_last_step(self._request.limits, self._spent)
        return plan_calls(message.tool_calls, self._tools, self._tool_choice.choice, last=last)

    def _record_usage(self, usage: messages.Usage, calls: Sequence[PlannedCall]) -> None:
        """Record a step's usage, and whether it met the tool choice."""
        self._spent = self._spent.add_step(usage)
        self._tool_choice = self._tool_choice.apply_calls(calls)

    async def _apply_response(
        self,
        message: AssistantMessage,
        calls: Sequence[PlannedCall],
        seqs: Sequence[int],
        known: dict[int, ToolResult],
        finish: str,
    ) -> TurnResult | None:
        """Add a committed response to the transcript; run its calls or end the turn."""
        if message.tool_calls:
            return await self._run_calls(message, calls, seqs, known)
        last = self._find_final_result(message, finish)
        if last is not None and finish != methods.RETURNED:
            return last
        if last is not None:
            self._return_answer(message, last)
            return None
        if self._tool_choice.choice.requires_call:
            self._transcript += [message, UserMessage(content=self._tool_choice.reminder)]
            return self._end_unmet_choice() if self._tool_choice.has_failed else None
        if self._request.contract is not None and markup.remove_markup(message.content):
            return await self._check_answer(message, self._request.contract, finish)
        self._empty += 1
        return self._end_unanswered(StopReason.EMPTY) if self._empty > EMPTY_RETRIES else None

    async def _run_calls(
        self,
        message: AssistantMessage,
        calls: Sequence[PlannedCall],
        seqs: Sequence[int],
        known: dict[int, ToolResult],
    ) -> TurnResult | None:
        """Run the calls; calls handed back to an API client end the turn."""
        if self._request.stream and (said := markup.remove_markup(message.content)):
            self._host.show_partial_answer(said)  # the calls may take long
        own = [
            (call, seq)
            for call, planned, seq in zip(message.tool_calls, calls, seqs, strict=True)
            if planned.rejected is not None or planned.name not in self._handed_back
        ]
        results = await execute_calls(
            own, known, self._tools, self._host.call_tool, parallel=self._settings.parallel
        )
        self._used += [call.name for call in message.tool_calls]
        if len(own) < len(calls):
            return self._build_result(StopReason.HANDED_BACK, markup.remove_markup(message.content))
        self._transcript += [message, *map(messages.cap_result, results)]
        self._offer_tools(list_found_tools(results) | {call.name for call in message.tool_calls})
        return self._end_unmet_choice() if self._tool_choice.has_failed else None

    def _offer_tools(self, names: set[str]) -> None:
        """Offer these tools from the next step on, unless they already are."""
        names = (names & self._tools.keys()) - {tool.name for tool in self._offered}
        if names:
            fresh = tuple(self._tools[name] for name in names)
            more = arguments.relax_tools(fresh) if self._request.relax else fresh
            self._offered = tuple(sorted((*self._offered, *more), key=lambda tool: tool.name))

    def _find_final_result(self, message: AssistantMessage, finish: str) -> TurnResult | None:
        """Return the turn's result if the response decides it, to be committed together."""
        text = markup.remove_markup(message.content, cut=finish == "length")
        if finish == "refused" and not message.tool_calls:
            if not text:
                return self._end_unanswered(StopReason.REFUSED)
            return self._build_result(StopReason.REFUSED, text)
        undecided = (
            message.tool_calls or self._tool_choice.choice.requires_call or self._request.contract
        )
        if undecided or not text:
            return None
        note = CUT_NOTES.get(finish, "")
        reason = StopReason.LENGTH if note else self._find_stop_reason()
        return self._build_result(reason, text + note)

    def _choose_finish(self, finish: methods.Finish, last: TurnResult | None) -> methods.Finish:
        """Return `RETURNED` for an answer that goes back to the model, once in a turn."""
        review, now = self._request.review, self._clock()
        if review is None or last is None or finish != "done" or self._returned is not None:
            return finish
        if now >= review.until or budget.find_exceeded_limit(
            self._request.limits, self._spent, now
        ):
            return finish
        false = describe_false_claims(review, last.text, self._transcript, self._tools.values())
        return methods.RETURNED if false else finish

    def _return_answer(self, message: AssistantMessage, last: TurnResult) -> None:
        """Let the model act or answer again, with its tools; the answer stands if that fails."""
        review, self._returned = self._request.review, last
        told = describe_false_claims(
            review, last.text, self._transcript, self._tools.values(), returned=True
        )
        self._transcript += [message, UserMessage(content=told)]

    async def _check_answer(
        self, message: AssistantMessage, contract: AnswerValidator, finish: str
    ) -> TurnResult | None:
        """End the turn with an answer that meets the contract, or let the model try again."""
        text = markup.split_answer(message.content).text
        judge = partial(contract.validate_answer, text, whole=finish not in CUT_NOTES)
        # Other chats of the agent must not wait while a long answer is searched for JSON.
        verdict = await to_thread.run_sync(judge, abandon_on_cancel=True)
        if isinstance(verdict, AnswerAccepted):
            return self._build_result(
                self._find_stop_reason(), verdict.text, repaired=verdict.repaired
            )
        self._rejections += 1
        self._transcript += [message, UserMessage(content=str(verdict))]
        if self._rejections <= contract.max_retries:
            return None
        return self._end_unanswered(StopReason.OUTPUT, "; ".join(verdict.problems))

    def _end_unmet_choice(
        self, error: str = "the model made no call of a tool that may run"
    ) -> TurnResult:
        return self._end_unanswered(StopReason.TOOL_CHOICE, error)

    def _end_unanswered(
        self, reason: StopReason, error: str | None = None, notice: str = ""
    ) -> TurnResult:
        if self._returned is not None:  # an answer that may be wrong in part, but not a failure
            return self._build_result(self._find_stop_reason(), self._returned.text)
        return self._build_result(reason, notice or STOP_TEXTS[reason], error, notice=True)

    def _find_stop_reason(self) -> StopReason:
        over = self._spent.steps >= self._request.limits.max_steps > 1
        return StopReason.MAX_STEPS if over else StopReason.DONE

    def _build_result(
        self, reason: StopReason, text: str, error: str | None = None, **more: bool
    ) -> TurnResult:
        return TurnResult(
            text=text,
            stop_reason=reason,
            usage=self._spent.usage,
            steps=self._spent.steps,
            tools_used=tuple(dict.fromkeys(self._used)),
            error=error,
            **more,
        )


def _choose_stop_reason(error: ModelError) -> StopReason:
    if isinstance(error, ContextOverflowError):
        return StopReason.OVERFLOW
    return StopReason.REFUSED if isinstance(error, FilteredError) else StopReason.MODEL_ERROR
