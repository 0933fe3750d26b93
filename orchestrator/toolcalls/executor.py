"""Run tool calls that are already planned in the journal.

A call runs in a task of the supervisor, so the death of the worker that requested it neither stops
nor repeats it: the next worker requests the same call and gets the same result.

Where: does a tool call run, once even after a crash?
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import anyio
import structlog
from anyio.abc import TaskGroup

from orchestrator.agentsfile import AgentDefinition
from orchestrator.chat_activity import CallFinished, CallStarted, ChatActivity
from orchestrator.errors import JournalError, OrchestratorError
from orchestrator.failpoints import failpoint
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import steps
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.steps import Call
from orchestrator.loop_bound import LoopBound
from orchestrator.prompts.library import PromptLibrary
from orchestrator.prompts.prompt_tools import apply_fixed_options
from orchestrator.toolcalls.approvals import ApprovalQueue
from orchestrator.toolcalls.authorization import (
    CallAuthorizer,
    CallContext,
    StartedCall,
    build_error_result,
)
from orchestrator.toolcalls.extension_calls import ExtensionCalls
from orchestrator.tools import policy
from orchestrator.tools.builtin.host_tool import (
    ExtensionTool,
    PlainTool,
    ToolContext,
    ToolFailure,
    build_tool_result,
)
from orchestrator.tools.host_tools import list_offered_host_tools
from orchestrator.tools.remote_tools import RemoteTool, RemoteTools, Tell
from thinker.protocol.logs import bound
from thinker.protocol.messages import SideEffect, ToolResult, ToolSpec
from thinker.protocol.methods import StepCommit, StepCommitted

OFFERS = 2048  # agents whose tools are kept; subagents come and go
log = structlog.get_logger()


@dataclass(frozen=True)
class ApprovalNeeded:
    """The call waits for an operator's decision."""

    approval: Approval

    def __str__(self) -> str:
        return f"{self.approval.tool} waits for approval {self.approval.code}"


@dataclass(frozen=True)
class ToolPending:
    """The subagent that the call started has not ended; the call is requested again later."""

    seq: int

    def __str__(self) -> str:
        return f"call {self.seq} is still running"


@dataclass(frozen=True)
class HandoffDone:
    """The call has ended and gave the turn to another agent."""

    def __str__(self) -> str:
        return "another agent has taken over the turn"


CallOutcome = ToolResult | ApprovalNeeded | ToolPending | HandoffDone


@dataclass
class _RunningCall:
    """A running call; ``waits_for`` is the line that the chat of the newest request sees."""

    tell: Tell
    done: anyio.Event = field(default_factory=anyio.Event)
    outcome: CallOutcome | None = None
    failure: JournalError | None = None
    waits_for: str = ""
    scope: anyio.CancelScope | None = None  # of a call that ends when its turn is stopped

    def show_waiting(self, text: str) -> None:
        self.waits_for = text
        self.tell(text)


class CallBrokeError(OrchestratorError):
    """A call revealed a fault of this program and has no result."""


@dataclass
class ToolExecutor(LoopBound):
    """Runs planned calls, each once for all concurrent requests.

    It calls ``changed`` when a call may have added messages, deliveries or scheduled tasks, and
    reports calls in watched chats to ``activity``.
    """

    store: Store
    servers: RemoteTools
    prompts: PromptLibrary
    tasks: TaskGroup
    approvals: ApprovalQueue
    clock: Callable[[], int]
    changed: Callable[[], None]
    activity: ChatActivity
    _extension_calls: ExtensionCalls = field(default_factory=ExtensionCalls, init=False)
    _pending: dict[tuple[str, int], _RunningCall] = field(default_factory=dict, init=False)
    _offers: dict[str, tuple[object, tuple[ToolSpec, ...]]] = field(
        default_factory=dict, init=False
    )

    def prepare_calls(
        self, commit: StepCommit, definition: AgentDefinition, offered: tuple[ToolSpec, ...]
    ) -> tuple[StepCommit, Mapping[str, SideEffect]]:
        """Return a step whose calls have the prompt's fixed options, and the classes of tools.

        Tools of an API client, which are handed back, have no such options.
        """
        handed_back = [tool.name for tool in offered if tool.handed_back]
        bundle = self.prompts.current_set.find_bundle(definition)
        return apply_fixed_options(bundle, commit, handed_back), policy.map_side_effects(offered)

    def build_authorizer(self, caller: CallContext) -> CallAuthorizer:
        """Build the authorizer of a caller's calls, for the present state.

        It lacks the tools of servers that do not answer: a call waits for its server before T4, so
        that an unsent call is not recorded as one that may have run.
        """
        definition = caller.definition
        answering = self.servers.list_answering_tools(definition.configured_id)
        return CallAuthorizer(
            caller=caller,
            host_tools=self.prompts.current_set.host_tools,
            tools={**self.prompts.current_set.list_prompt_tools(definition), **answering},
            bundle=self.prompts.current_set.find_bundle(definition),
            now=self.clock(),
            code=self.approvals.new_code(),
        )

    def list_offered_tools(self, definition: AgentDefinition) -> tuple[ToolSpec, ...]:
        """List the tools that an agent's allow and deny globs permit."""
        served: Mapping[str, RemoteTool] = {}
        if self.servers.has_servers:
            served = self.servers.list_agent_tools(definition.configured_id)
        sources = definition, served, self.prompts.current_set
        before, tools = self._offers.get(definition.agent_id, (None, ()))
        if before != sources:
            prompts = self.prompts.current_set.list_prompt_tools(definition)
            every = [*(t.spec for t in served.values()), *(t.spec for t in prompts.values())]
            own = list_offered_host_tools(self.prompts.current_set.host_tools, definition)
            tools = own + policy.select_offered_tools(every, definition)
            if len(self._offers) == OFFERS:
                self._offers.clear()
            self._offers[definition.agent_id] = sources, tools
        return tools

    def stop_calls(self, turn_ids: Collection[str]) -> None:
        """End the calls of stopped turns that would keep running, such as commands."""
        for (turn_id, _), pending in self._pending.items():
            if turn_id in turn_ids and pending.scope is not None:
                pending.scope.cancel()

    def list_running_calls(self, turn_id: str) -> frozenset[int]:
        """List the running calls of a turn."""
        return frozenset(seq for turn, seq in self._pending if turn == turn_id)

    def report_results(self, results: Mapping[int, ToolResult]) -> None:
        """Log ended calls, and report changes unless all of them are pure."""
        for seq, result in results.items():
            log.info("tool_call", tool=result.name, seq=seq)
        tools = self.prompts.current_set.host_tools
        known = (tools.get(result.name) for result in results.values())
        if any(tool is None or tool.spec.side_effect is not SideEffect.PURE for tool in known):
            self.changed()

    def report_step(
        self, agent_id: str, chat_key: str, commit: StepCommit, committed: StepCommitted
    ) -> None:
        """Report the calls of a step that ended with its commit."""
        self.report_results(committed.results)
        if not commit.calls or not self.activity.is_watched(chat_key):
            return
        written = {call.id: call.arguments for call in commit.response.tool_calls}
        for seq, call in zip(committed.call_seqs, commit.calls, strict=True):
            result = committed.results.get(seq)
            if result is not None or call.rejected is not None:
                arguments = call.arguments or written.get(call.id, {})  # without, if rejected
                made = CallStarted(commit.turn_id, seq, agent_id, call.name, arguments)
                problem = call.rejected if result is None else _find_error_text(result)
                self.activity.tell_watchers(chat_key, CallFinished(made, 0.0, problem))

    async def run_planned_call(self, caller: CallContext, seq: int, tell: Tell) -> CallOutcome:
        """Return the recorded result of a call, running it first if needed, or why it must wait.

        Raises:
            JournalError: the result could not be stored; the caller may ask again.
            CallBrokeError: the call revealed a fault of this program.
        """
        key = (caller.context.turn_id, seq)
        pending = self._pending.get(key)
        if pending is None:
            pending = self._pending[key] = _RunningCall(tell)
            self.tasks.start_soon(self._run_call, pending, caller, seq)
        pending.tell = tell
        if pending.waits_for:
            tell(pending.waits_for)
        await pending.done.wait()
        if pending.failure is not None:
            raise pending.failure
        if pending.outcome is None:
            raise CallBrokeError(f"call {key[0]}:{seq} has no result")
        return pending.outcome

    async def _run_call(self, pending: _RunningCall, caller: CallContext, seq: int) -> None:
        context = caller.context
        try:
            with bound(  # this task does not have the turn's log context
                turn_id=context.turn_id, agent_id=context.agent_id, chat_id=context.address.chat_key
            ):
                made, begun_at = await self._announce_call(caller, seq), self.clock()
                pending.outcome = await self._execute_call(pending, caller, seq)
                if made is not None:
                    seconds = max(0.0, (self.clock() - begun_at) / 1000)
                    self._announce_end(caller, made, seconds, pending.outcome)
        except JournalError as error:
            log.error("tool_call_failed", seq=seq, problem=str(error))
            pending.failure = error
        except Exception:  # a fault in one tool must not end the daemon
            log.exception("tool_call_broke", seq=seq)
        finally:
            del self._pending[(context.turn_id, seq)]
            pending.done.set()

    async def _announce_call(self, caller: CallContext, seq: int) -> CallStarted | None:
        """Tell the chat's watchers of a call that begins; None without watchers."""
        context = caller.context
        chat_key = context.address.chat_key
        if not self.activity.is_watched(chat_key):
            return None
        call = await self.store.read(steps.find_call, context.turn_id, seq)
        if call is None or call.result is not None:
            return None
        made = CallStarted(context.turn_id, seq, context.agent_id, call.name, call.arguments)
        self.activity.tell_watchers(chat_key, made)
        return made

    def _announce_end(
        self, caller: CallContext, made: CallStarted, seconds: float, outcome: CallOutcome
    ) -> None:
        """Tell the chat's watchers of an ended call that is not merely waiting."""
        if isinstance(outcome, ToolResult | HandoffDone):
            problem = _find_error_text(outcome) if isinstance(outcome, ToolResult) else None
            ended = CallFinished(made, seconds, problem)
            self.activity.tell_watchers(caller.context.address.chat_key, ended)

    async def _execute_call(
        self, pending: _RunningCall, caller: CallContext, seq: int
    ) -> CallOutcome:
        begun = await self._begin_call(caller, seq)
        if isinstance(begun, StartedCall) and begun.tool is None:
            agent_id = caller.definition.configured_id
            await self.servers.wait_for_tool(begun.call.name, agent_id, pending.show_waiting)
            begun = await self._begin_call(caller, seq)
        if isinstance(begun, StartedCall):
            return await self._run_outside_journal(begun, caller, pending)
        if isinstance(begun, ToolResult):
            self.report_results({seq: begun})
            prompts = self.prompts.current_set
            if not begun.is_error and prompts.is_handoff_tool(caller.definition, begun.name):
                return HandoffDone()
            return begun
        self.changed()
        if begun is None:
            return ToolPending(seq)
        log.info("approval_needed", seq=seq, tool=begun.tool)
        return ApprovalNeeded(begun)

    async def _begin_call(
        self, caller: CallContext, seq: int
    ) -> ToolResult | Approval | StartedCall | None:
        return await self.store.transact(self.build_authorizer(caller).begin, seq)

    async def _run_outside_journal(
        self, begun: StartedCall, caller: CallContext, pending: _RunningCall
    ) -> ToolResult:
        """Run a tool whose effect is outside the journal, and record its result (T5)."""
        call, tool = begun.call, begun.tool
        if tool is None:
            reason = self.servers.explain_missing_tool(call.name, caller.definition.configured_id)
            refused = build_error_result(call, reason, "tool")  # it may contain text of the server
            return await self.store.transact(steps.finish, call, refused, self.clock())
        log.info("tool_call", tool=call.name, seq=call.seq)
        failpoint("effect:before")
        if isinstance(tool, RemoteTool):
            result = await self._call_server(tool, call, caller.context, pending)
        else:
            await self.store.ensure_held()
            if isinstance(tool, ExtensionTool):
                result = await self._extension_calls.run_call(tool, call, caller.context)
            else:
                result = await _run_plain_tool(tool, call, caller.context)
        failpoint("effect:after")
        if result is not None:
            return await self.store.transact(steps.finish, call, result, self.clock())
        unknown = build_error_result(call, steps.UNKNOWN_OUTCOME)
        return await self.store.transact(steps.finish, call, unknown, self.clock(), "unknown")

    async def _call_server(
        self, tool: RemoteTool, call: Call, context: ToolContext, pending: _RunningCall
    ) -> ToolResult | None:
        if not self.servers.is_ended_with_turn(tool):
            return await self.servers.run_call(tool, call, pending.show_waiting)
        tool = replace(tool, env={**tool.env, **context.call_env})
        with anyio.CancelScope() as pending.scope:
            return await self.servers.run_call(tool, call, pending.show_waiting)
        return build_error_result(
            call, "it was ended with its turn; what it had done until then stays"
        )


def _find_error_text(result: ToolResult) -> str | None:
    """Return a call's error as its model reads it; None if it succeeded."""
    return result.content if result.is_error else None


async def _run_plain_tool(tool: PlainTool, call: Call, context: ToolContext) -> ToolResult:
    try:
        with anyio.fail_after(tool.seconds):
            text = await tool.run(context, call.arguments)
    except ToolFailure as failure:
        return build_error_result(call, str(failure))
    except TimeoutError:
        return build_error_result(call, f"the tool did not finish in {tool.seconds:.0f} seconds")
    except OSError as error:
        return build_error_result(call, f"the tool failed: {error}")
    return build_tool_result(call, text, private=tool.private)
