"""Serve a worker's requests for its turn: commits, tool calls, new messages, previews."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import structlog

from orchestrator.errors import JournalError
from orchestrator.journal.db.store import FencedError
from orchestrator.journal.turns.prompt_records import NO_SOURCES, PromptSources
from orchestrator.loop_bound import LoopBound
from orchestrator.outbound.chat_queue import Preview
from orchestrator.toolcalls.authorization import CallContext
from orchestrator.toolcalls.executor import CallBrokeError
from orchestrator.tools.builtin.host_tool import ToolContext
from orchestrator.turns import steering, turn_inputs
from orchestrator.turns.completion import Ending
from orchestrator.turns.link_guard import PreviewedLinks
from orchestrator.turns.outcomes import AgentPaused, Outcome, Reason, TurnFinished, TurnSuspended
from orchestrator.turns.step_commit import Step, commit_step, read_words
from orchestrator.turns.turn_inputs import TurnInputs
from orchestrator.turns.turn_services import TurnServices
from thinker.protocol.environments import Environments
from thinker.protocol.logs import bound
from thinker.protocol.messages import JsonObject, ToolResult, UserMessage
from thinker.protocol.methods import StepCommit, StepCommitted, TurnResult, TurnRun
from thinker.protocol.peer import FAILED, FENCED, RpcError

Read = TypeVar("Read", ToolResult, UserMessage)
log = structlog.get_logger()


@dataclass(kw_only=True)
class TurnHost(LoopBound):
    """The journal side of one attempt at a turn (`orchestrator.processes.worker.WorkerHost`).

    ``run`` is what the worker, with its ``settings``, was sent. ``outcome`` is how the attempt
    ended, once a request decided it. ``last`` is the result that the last step carried, from before
    its commit on. ``unusable`` is set once the journal could not be used for a request.
    """

    services: TurnServices
    ending: Ending
    inputs: TurnInputs
    environments: Callable[[], Environments]
    preview: Preview | None = None
    run: TurnRun | None = None
    settings: JsonObject | None = None
    outcome: Outcome | None = field(default=None, init=False)
    last: TurnResult | None = field(default=None, init=False)
    unusable: JournalError | None = field(default=None, init=False)

    # --- steps ---------------------------------------------------------------------------------

    async def commit_step(self, commit: StepCommit) -> StepCommitted:
        """Commit T3, fenced by the epoch.

        The last step is committed together with T6. If a pause began with the step, the turn stops
        there.
        """
        last = self.last = commit.ends
        services = self.services
        with self._bind_turn():
            try:
                planned = await commit_step(services.store, self._build_step(commit))
            except JournalError as error:
                raise self._refuse_request(error) from error
            committed = planned.committed
            if commit.calls:
                self._report_calls(commit, committed)
            if committed.changed:
                log.debug("prompt_changed", layers=committed.changed)
            if last is not None:
                self.outcome = TurnFinished(last, committed=True)
                services.completion.announce_reply(self.ending, last, planned.ended)
        if planned.notified:
            services.delivery.wake()
        if planned.pause is not None:
            raise self._suspend_turn(AgentPaused(planned.pause.reason))
        results = {seq: self._mark_as_read(result) for seq, result in committed.results.items()}
        return committed.model_copy(update={"results": results}) if results else committed

    def _bind_turn(self) -> AbstractContextManager[None]:
        """Bind the turn for a request: the tasks of the wire know nothing of it."""
        turn = self.ending.turn
        return bound(turn_id=turn.id, agent_id=turn.agent_id, chat_id=turn.chat_key)

    def _build_step(self, commit: StepCommit) -> Step:
        inputs, run, sources = self.inputs, self.run, NO_SOURCES
        if run is not None:
            agent, window = inputs.context.definition.configured_id, inputs.stored.window
            sources = PromptSources(run.prompt, run.tools, self.settings, agent, window)
        step = Step(
            ending=self.ending,
            commit=commit,
            rules=inputs.context.rules,
            opening=inputs.stored.messages,
            sources=sources,
        )
        if not commit.calls:
            return step
        tools = self.services.inputs.tools
        prepared, classes = tools.prepare_calls(
            commit, inputs.context.definition, () if run is None else run.tools
        )
        authorizer = tools.build_authorizer(self._build_caller())
        return replace(step, commit=prepared, classes=classes, authorizer=authorizer)

    def _report_calls(self, commit: StepCommit, committed: StepCommitted) -> None:
        """Report the ended calls of a step to the chat's watchers, after its text."""
        context, tools = self.inputs.context, self.services.inputs.tools
        chat_key = context.address.chat_key
        if tools.activity.is_watched(chat_key):
            self.show_partial_answer(read_words(commit))
        tools.report_step(context.turn.agent_id, chat_key, commit, committed)

    # --- tool calls ------------------------------------------------------------------------------

    async def call_tool(self, seq: int) -> ToolResult:
        """Run a planned call: policy, T4, effect, T5."""
        try:
            result = await self.services.inputs.tools.run_planned_call(
                self._build_caller(), seq, self._build_wait_display()
            )
        except CallBrokeError as error:
            raise RpcError(FAILED, str(error)) from error
        except JournalError as error:
            raise self._refuse_request(error) from error
        if isinstance(result, ToolResult):
            return self._mark_as_read(result)
        raise self._suspend_turn(result)

    def _build_caller(self) -> CallContext:
        context = self.inputs.context
        tools = () if self.run is None else self.run.tools
        return CallContext(
            definition=context.definition,
            context=replace(self._tool_context, now=context.clock()),
            epoch=self.ending.turn.epoch,
            handed_back=frozenset(tool.name for tool in tools if tool.handed_back),
        )

    @cached_property
    def _tool_context(self) -> ToolContext:
        offered = None if self.run is None else self.run.tools
        return self.services.build_tool_context(self.inputs.context, self.environments(), offered)

    # --- new messages and previews ---------------------------------------------------------------

    async def take_new_messages(self) -> tuple[UserMessage, ...]:
        """Return the chat's new messages, if they or the agent ask to steer the turn."""
        context = self.inputs.context
        try:
            with self._bind_turn():
                found = await steering.enter_new_messages(
                    self.services, context, self._tool_context
                )
        except JournalError as error:
            raise self._refuse_request(error) from error
        return tuple(self._mark_as_read(message) for message in found)

    def _build_wait_display(self) -> Callable[[str], None]:
        """Build a function that shows a line below the text before the call."""
        before = "" if self.preview is None else self.preview.text

        def show_partial_answer(line: str) -> None:
            text = "\n\n".join(filter(None, (before, line)))
            if text:
                self.show_partial_answer(text)

        return show_partial_answer

    def show_partial_answer(self, text: str) -> None:
        if self.preview is not None:
            self.preview.show_text(self._previewed_links.defuse_preview(text))

    @cached_property
    def _previewed_links(self) -> PreviewedLinks:
        inputs = self.inputs
        recipe, provenance = inputs.context.turn.recipe, inputs.context.definition.provenance
        on = provenance == "on" and recipe == "interactive"
        return PreviewedLinks(inputs.read, inputs.stored, on=on)

    def _mark_as_read(self, message: Read) -> Read:
        self._previewed_links.add_message(message)
        off = self.inputs.context.definition.provenance == "off"
        return turn_inputs.strip_message_origin(message) if off else message

    # --- refusals --------------------------------------------------------------------------------

    def _suspend_turn(self, reason: Reason) -> RpcError:
        self.outcome = TurnSuspended(reason)
        return RpcError(FENCED, str(reason))

    def _refuse_request(self, error: JournalError) -> RpcError:
        if isinstance(error, FencedError):
            return RpcError(FENCED, str(error))
        self.unusable = error
        return RpcError(FAILED, str(error))
