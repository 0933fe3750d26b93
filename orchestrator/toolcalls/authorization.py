"""Authorize tool calls by policy and approvals, and run those whose effect is in the journal.

Policy is enforced here and nowhere else. Everything runs inside journal transactions, on plain data
that the event loop gathered before; effects outside the journal are in
`orchestrator.toolcalls.executor`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import JournalError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.savepoints import savepoint_or_rollback
from orchestrator.journal.turns import steps, subagents, taint
from orchestrator.journal.turns.approvals import Approval, used
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.taint import Taint
from orchestrator.prompts.prompt_tools import configured, fixed_options
from orchestrator.toolcalls import approvals
from orchestrator.tools import policy
from orchestrator.tools.builtin import host_tool
from orchestrator.tools.builtin.catalog import TOOLS
from orchestrator.tools.builtin.host_tool import JournalTool, PlainTool, ToolContext, ToolFailure
from orchestrator.tools.mcp.mcp_tools import McpTool
from thinker.formats.prompts.bundle import PromptBundle
from thinker.formats.prompts.problem import DefinitionError
from thinker.formats.prompts.tooluse import INJECTED
from thinker.protocol.messages import Origin, SideEffect, ToolResult


class CallContext(NamedTuple):
    """The agent that makes a call, as its turn sees it, and the epoch of the daemon."""

    definition: AgentDefinition
    context: ToolContext
    epoch: int
    handed_back: frozenset[str] = frozenset()  # tools that the API client runs


class StartedCall(NamedTuple):
    """A call past T4 whose tool runs outside the journal; without a tool, T4 was not made."""

    call: Call
    tool: PlainTool | McpTool | None


@dataclass(frozen=True)
class CallAuthorizer:
    """Decides whether calls of a caller may run, and begins them, as things were when it was made.

    What changes before the transaction changes nothing that was decided: an edit of agents.json
    counts for the calls after it. ``tools`` has MCP tools and prompts by name, ``bundle`` is the
    agent's prompt definition. ``code`` is for a question to the operator.
    """

    caller: CallContext
    tools: Mapping[str, host_tool.DelegatingTool | McpTool]
    bundle: PromptBundle | None
    now: int
    code: str

    def run_local(self, db: Database, seqs: Sequence[int]) -> dict[int, ToolResult]:
        """Run the first calls of a step inside T3, as long as they need only the journal.

        It saves a round trip to the worker and a transaction for each call.
        """
        results: dict[int, ToolResult] = {}
        for seq in seqs:
            call = self._load(db, seq)
            if call.result is not None:  # the worker rejected it
                continue
            handed_back = call.name in self.caller.handed_back
            if handed_back or not isinstance(TOOLS.get(call.name), JournalTool):
                break
            result = None
            with savepoint_or_rollback(db):  # the worker's request for the call reports a fault
                result = self._decide(db, call)
            if not isinstance(result, ToolResult):
                break
            results[seq] = result
        return results

    def begin(self, db: Database, seq: int) -> ToolResult | Approval | StartedCall | None:
        """Begin a call (T4); also end it (T5) if its effect is in the journal.

        Return the result, the approval that the call waits for, the started call, or None while a
        subagent works on it.
        """
        call = self._load(db, seq)
        return self._decide(db, call) if call.result is None else call.result

    def _load(self, db: Database, seq: int) -> Call:
        turn_id = self.caller.context.turn_id
        call = steps.load_call(db, turn_id, seq)
        if call is None:
            raise JournalError(f"there is no call {turn_id}:{seq}")
        return call

    def _decide(self, db: Database, call: Call) -> ToolResult | Approval | StartedCall | None:
        definition = self.caller.definition
        decision = policy.decide(call.name, definition.allowed_tools, definition.denied_tools)
        if not decision.allowed:
            return self._deny(db, call, decision.reason)
        tool = TOOLS.get(call.name) or self.tools.get(call.name)
        if tool is None:
            return StartedCall(call, None)
        if isinstance(tool, host_tool.DelegatingTool):
            return self._delegate(db, call, tool)
        return self._require_approval(db, call, tool) or self._start(db, call, tool)

    def _start(
        self, db: Database, call: Call, tool: JournalTool | PlainTool | McpTool
    ) -> ToolResult | StartedCall:
        """Begin a call with the options of the prompt's entry, which the journal does not hold."""
        context = self.caller.context
        try:
            call, tool = configured(self.bundle, context.environments, call, tool)
        except DefinitionError as error:
            return self._refuse(db, call, str(error))
        if isinstance(tool, JournalTool):
            if tool.spec.side_effect is not SideEffect.PURE:
                context = replace(context, origin=self._origin(db, call))
            effect = _effect(tool, call, context)
            return steps.finish_local(db, call, effect, self.caller.epoch, self.now)
        steps.intend(db, call.turn_id, call.seq, self.caller.epoch, self.now)
        return StartedCall(call, tool)

    def _delegate(
        self, db: Database, call: Call, tool: host_tool.DelegatingTool
    ) -> ToolResult | Approval | None:
        """Begin the work and return None; return the result once the work has an outcome."""
        if subagents.of_call(db, call.turn_id, call.seq) is None:
            held = self._require_approval(db, call, tool)
            if held is not None:
                return held
        steps.intend(db, call.turn_id, call.seq, self.caller.epoch, self.now)
        wrong = False
        try:
            said = tool.outcome(db, self.caller.context, call)
        except ToolFailure as failure:
            said, wrong = str(failure), True
        if said is None:
            return None
        run = subagents.of_call(db, call.turn_id, call.seq)
        read = Taint() if run is None else subagents.read_by(db, run)
        text = host_tool.quoted(said, [read.origin])
        result = host_tool.told(call, text, private=bool(read.private))
        result = result.model_copy(update={"is_error": wrong})
        return steps.finish(db, call, result, self.now)

    def _origin(self, db: Database, call: Call) -> Origin:
        """Return who is to be taken for the author of what a call writes."""
        return "operator" if used(db, call) else taint.load(db, call.turn_id).origin

    def _require_approval(
        self, db: Database, call: Call, tool: host_tool.HostTool | McpTool
    ) -> ToolResult | Approval | None:
        """Return the refusal of a call or the approval that it waits for; None if it may run.

        The arguments of built-in tools are checked here, because every call passes through: from
        models with and without native tool calls, tasks without a model, and the daemon itself.
        """
        if not isinstance(tool, McpTool) and (call.name in TOOLS or call.name in INJECTED):
            problem = host_tool.unknown_arguments(tool, call.arguments)
            if problem is not None:
                return self._refuse(db, call, problem)
        definition, address = self.caller.definition, self.caller.context.address
        fixed = fixed_options(self.bundle, call.name)
        checked = approvals.check(db, call, tool, definition, address, self.code, self.now, fixed)
        return self._refuse(db, call, checked) if isinstance(checked, str) else checked

    def _refuse(self, db: Database, call: Call, reason: str) -> ToolResult:
        """End a call that does not run (T5)."""
        return steps.finish(db, call, failed(call, reason), self.now)

    def _deny(self, db: Database, call: Call, reason: str) -> ToolResult:
        audit.record(db, "policy", f"denied {call.name}: {reason}", call.idem_key, self.now)
        text = f"the tool {call.name!r} is not allowed for this agent ({reason})"
        return self._refuse(db, call, text)


def _effect(
    tool: JournalTool, call: Call, context: ToolContext
) -> Callable[[Database], ToolResult]:
    def run(db: Database) -> ToolResult:
        try:
            text = tool.effect(db, context, call.arguments)
        except ToolFailure as failure:
            return failed(call, str(failure))
        return host_tool.told(call, text, private=tool.private)

    return run


def failed(call: Call, text: str, origin: Origin = "operator") -> ToolResult:
    return ToolResult(
        call_id=call.call_id, name=call.name, content=text, is_error=True, origin=origin
    )
