"""Authorize tool calls by policy and approvals, and run those whose effect is in the journal.

Policy is enforced here and nowhere else. Everything runs inside journal transactions, on plain data
that the event loop gathered before; effects outside the journal are in
`orchestrator.toolcalls.executor`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import JournalError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database, roll_back_on_failure
from orchestrator.journal.turns import steps, subagents, taint
from orchestrator.journal.turns.approvals import Approval, is_used
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.taint import Taint
from orchestrator.prompts.prompt_tools import configure_call, find_fixed_options
from orchestrator.toolcalls import approvals
from orchestrator.tools import policy
from orchestrator.tools.builtin import host_tool
from orchestrator.tools.builtin.host_tool import (
    ExtensionTool,
    HostTool,
    JournalTool,
    PlainTool,
    ToolContext,
    ToolFailure,
)
from orchestrator.tools.remote_tools import RemoteTool
from thinker.formats.prompts.bundle import PromptBundle
from thinker.formats.prompts.problem import DefinitionError
from thinker.formats.prompts.tooluse import INJECTED
from thinker.protocol.messages import Origin, SideEffect, ToolResult


class CallContext(NamedTuple):
    """The agent that makes a call, as its turn sees it, and the daemon's epoch."""

    definition: AgentDefinition
    context: ToolContext
    epoch: int
    handed_back: frozenset[str] = frozenset()  # tools that the API client runs


class StartedCall(NamedTuple):
    """A call past T4 whose tool runs outside the journal; without a tool, T4 was not made."""

    call: Call
    tool: PlainTool | ExtensionTool | RemoteTool | None


@dataclass(frozen=True)
class CallAuthorizer:
    """Decides whether calls may run, and begins them, by the state when it was made.

    A later change does not alter what was decided: an edit of agents.json
    counts for the calls after it. ``tools`` has remote tools and prompts by name, ``bundle`` is the
    agent's prompt definition. ``code`` is for a question to the operator.
    """

    caller: CallContext
    host_tools: Mapping[str, HostTool]
    tools: Mapping[str, host_tool.DelegatingTool | RemoteTool]
    bundle: PromptBundle | None
    now: int
    code: str

    def run_local_calls(self, db: Database, seqs: Sequence[int]) -> dict[int, ToolResult]:
        """Run the first calls of a step inside T3, while they need only the journal.

        This saves a round trip to the worker and a transaction for each call.
        """
        results: dict[int, ToolResult] = {}
        for seq in seqs:
            call = self._load_call(db, seq)
            if call.result is not None:  # the worker rejected it
                continue
            handed_back = call.name in self.caller.handed_back
            if handed_back or not isinstance(self.host_tools.get(call.name), JournalTool):
                break
            result = None
            with roll_back_on_failure(db):  # the worker's request for the call reports a fault
                result = self._decide_call(db, call)
            if not isinstance(result, ToolResult):
                break
            results[seq] = result
        return results

    def begin(self, db: Database, seq: int) -> ToolResult | Approval | StartedCall | None:
        """Begin a call (T4); also end it (T5) if its effect is in the journal.

        Return the result, the approval that the call waits for, the started call, or None while a
        subagent works on it.
        """
        call = self._load_call(db, seq)
        return self._decide_call(db, call) if call.result is None else call.result

    def _load_call(self, db: Database, seq: int) -> Call:
        turn_id = self.caller.context.turn_id
        call = steps.find_call(db, turn_id, seq)
        if call is None:
            raise JournalError(f"unknown call {turn_id}:{seq}")
        return call

    def _decide_call(self, db: Database, call: Call) -> ToolResult | Approval | StartedCall | None:
        definition = self.caller.definition
        decision = policy.decide_tool(call.name, definition.allowed_tools, definition.denied_tools)
        if not decision.allowed:
            return self._deny_call(db, call, decision.reason)
        tool = self.host_tools.get(call.name) or self.tools.get(call.name)
        if tool is None:
            return StartedCall(call, None)
        if isinstance(tool, host_tool.DelegatingTool):
            return self._delegate_call(db, call, tool)
        return self._require_approval(db, call, tool) or self._start_call(db, call, tool)

    def _start_call(
        self, db: Database, call: Call, tool: JournalTool | PlainTool | ExtensionTool | RemoteTool
    ) -> ToolResult | StartedCall:
        """Begin a call with the options of the prompt's entry, which the journal does not hold."""
        context = self.caller.context
        try:
            call, tool = configure_call(self.bundle, context.environments, call, tool)
        except DefinitionError as error:
            return self._refuse_call(db, call, str(error))
        if isinstance(tool, JournalTool):
            if tool.spec.side_effect is not SideEffect.PURE:
                context = replace(context, origin=self._find_call_origin(db, call))
            effect = _bind_effect(tool, call, context)
            return steps.finish_local(db, call, effect, self.caller.epoch, self.now)
        steps.mark_intent(db, call.turn_id, call.seq, self.caller.epoch, self.now)
        return StartedCall(call, tool)

    def _delegate_call(
        self, db: Database, call: Call, tool: host_tool.DelegatingTool
    ) -> ToolResult | Approval | None:
        """Begin the work and return None; return the result once the work has an outcome."""
        if subagents.find_run_of_call(db, call.turn_id, call.seq) is None:
            held = self._require_approval(db, call, tool)
            if held is not None:
                return held
        steps.mark_intent(db, call.turn_id, call.seq, self.caller.epoch, self.now)
        wrong = False
        try:
            said = tool.begin_or_find_result(db, self.caller.context, call)
        except ToolFailure as failure:
            said, wrong = str(failure), True
        if said is None:
            return None
        run = subagents.find_run_of_call(db, call.turn_id, call.seq)
        read = Taint() if run is None else subagents.load_taint_of_run(db, run)
        text = host_tool.mark_quoted_text(said, [read.origin])
        result = host_tool.build_tool_result(call, text, private=bool(read.private))
        result = result.model_copy(update={"is_error": wrong})
        return steps.finish(db, call, result, self.now)

    def _find_call_origin(self, db: Database, call: Call) -> Origin:
        """Return who counts as the author of what a call writes."""
        return "operator" if is_used(db, call) else taint.load_taint(db, call.turn_id).origin

    def _require_approval(
        self, db: Database, call: Call, tool: HostTool | RemoteTool
    ) -> ToolResult | Approval | None:
        """Return the refusal of a call or the approval that it waits for; None if it may run.

        The arguments of built-in tools are checked here, because every call passes through: from
        models with and without native tool calls, tasks without a model, and the daemon itself.
        """
        problem = self._describe_arguments(call, tool)
        if problem is not None:
            return self._refuse_call(db, call, problem)
        context = self.caller.context
        rules = approvals.ApprovalRules(
            self.caller.definition,
            approvals.AskedChats(context.address, context.find_asked_chat),
            self.code,
            self.now,
            self._find_later_tool,
            partial(find_fixed_options, self.bundle),
        )
        checked = approvals.check_approval(db, call, tool, rules)
        return self._refuse_call(db, call, checked) if isinstance(checked, str) else checked

    def _describe_arguments(self, call: Call, tool: HostTool | RemoteTool) -> str | None:
        """Return what is wrong with the arguments of a call of a built-in tool."""
        own = call.name in self.host_tools or call.name in INJECTED
        if isinstance(tool, RemoteTool) or not own:
            return None
        return host_tool.describe_unknown_arguments(tool, call.arguments)

    def _find_later_tool(self, call: Call) -> HostTool | RemoteTool | None:
        """Return the tool that a planned call will run; None if it is refused or handed back."""
        definition = self.caller.definition
        if call.name in self.caller.handed_back:
            return None
        if not policy.decide_tool(
            call.name, definition.allowed_tools, definition.denied_tools
        ).allowed:
            return None
        tool = self.host_tools.get(call.name) or self.tools.get(call.name)
        return None if tool is None or self._describe_arguments(call, tool) else tool

    def _refuse_call(self, db: Database, call: Call, reason: str) -> ToolResult:
        """End a call that does not run (T5)."""
        return steps.finish(db, call, build_error_result(call, reason), self.now)

    def _deny_call(self, db: Database, call: Call, reason: str) -> ToolResult:
        audit.record_decision(
            db, "policy", f"denied {call.name}: {reason}", call.idem_key, self.now
        )
        text = f"the tool {call.name!r} is not allowed for this agent ({reason})"
        return self._refuse_call(db, call, text)


def _bind_effect(
    tool: JournalTool, call: Call, context: ToolContext
) -> Callable[[Database], ToolResult]:
    def run_effect(db: Database) -> ToolResult:
        try:
            text = tool.effect(db, context, call.arguments)
        except ToolFailure as failure:
            return build_error_result(call, str(failure))
        return host_tool.build_tool_result(call, text, private=tool.private)

    return run_effect


def build_error_result(call: Call, text: str, origin: Origin = "operator") -> ToolResult:
    return ToolResult(
        call_id=call.call_id, name=call.name, content=text, is_error=True, origin=origin
    )
