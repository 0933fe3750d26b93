"""The way of a tool call through the journal: policy, T4, and T5 where nothing else is needed.

The one place where policy is enforced (design §12). All of it is inside transactions; what has an
effect outside of them is in `orchestrator.toolcalls.executor`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import apsw

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import JournalError
from orchestrator.journal.db import audit
from orchestrator.journal.db.savepoints import savepoint_or_rollback
from orchestrator.journal.turns import steps
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.steps import Call
from orchestrator.prompts.library import PromptLibrary
from orchestrator.toolcalls.approvals import ApprovalQueue
from orchestrator.tools import policy
from orchestrator.tools.builtin.catalog import TOOLS
from orchestrator.tools.builtin.host_tool import (
    DelegatingTool,
    HostTool,
    JournalTool,
    PlainTool,
    ToolContext,
    ToolFailure,
    unknown_arguments,
)
from orchestrator.tools.mcp.mcp_tools import McpTool
from orchestrator.tools.mcp.servers import McpServers
from thinker.formats.prompts.problem import DefinitionError
from thinker.formats.prompts.tooluse import INJECTED
from thinker.protocol.messages import ToolResult


@dataclass(frozen=True)
class CallContext:
    """Who makes a call: the agent as its turn has it, and the epoch of the process that runs it."""

    definition: AgentDefinition
    context: ToolContext
    epoch: int
    handed_back: frozenset[str] = frozenset()  # tools that whoever asked runs


@dataclass(frozen=True)
class StartedCall:
    """A call whose tool is outside the journal, past T4; without a tool nothing has begun."""

    call: Call
    tool: PlainTool | McpTool | None


class CallAuthorizer:
    """Decides of each call, by policy and approvals, whether it may begin."""

    def __init__(
        self,
        servers: McpServers,
        prompts: PromptLibrary,
        desk: ApprovalQueue,
        clock: Callable[[], int],
    ) -> None:
        self._servers = servers
        self._prompts = prompts
        self._approvals = desk
        self._clock = clock

    def run_local(
        self, db: apsw.Connection, caller: CallContext, seqs: Sequence[int]
    ) -> dict[int, ToolResult]:
        """Inside T3: T4 and T5 of its first calls, as long as they need nothing but the journal.

        It saves them a way to the worker and back, and a transaction each.
        """
        results: dict[int, ToolResult] = {}
        for seq in seqs:
            call = _load(db, caller, seq)
            if call.result is not None:  # the worker rejected it
                continue
            foreign = call.name in caller.handed_back
            if foreign or not isinstance(TOOLS.get(call.name), JournalTool):
                break
            made = None
            with savepoint_or_rollback(
                db
            ):  # a fault in one tool is told when the worker asks for it
                made = self._decide(db, caller, call)
            if not isinstance(made, ToolResult):
                break
            results[seq] = made
        return results

    def begin(
        self, db: apsw.Connection, caller: CallContext, seq: int
    ) -> ToolResult | Approval | StartedCall | None:
        """Policy and T4; T5 as well of a call that changes, or reads, nothing but the journal.

        What waits is an approval, or None: work that goes on elsewhere.
        """
        call = _load(db, caller, seq)
        return self._decide(db, caller, call) if call.result is None else call.result

    def _decide(
        self, db: apsw.Connection, caller: CallContext, call: Call
    ) -> ToolResult | Approval | StartedCall | None:
        definition = caller.definition
        decision = policy.decide(call.name, definition.allowed_tools, definition.denied_tools)
        if not decision.allowed:
            return self._deny(db, call, decision.reason)
        tool = (
            TOOLS.get(call.name)
            or self._servers.tools.get(call.name)
            or self._prompts.tools(definition).get(call.name)
        )
        if tool is None:
            return StartedCall(call, None)
        if isinstance(tool, DelegatingTool):
            return self._delegate(db, call, tool, caller)
        return self._require_approval(db, call, tool, caller) or self._start(db, call, tool, caller)

    def _start(
        self,
        db: apsw.Connection,
        call: Call,
        tool: JournalTool | PlainTool | McpTool,
        caller: CallContext,
    ) -> ToolResult | StartedCall:
        """T4, with what only the operator sets in the call, which the journal does not hold."""
        known = caller.context.environments
        try:
            call, tool = self._prompts.configured(caller.definition, known, call, tool)
        except DefinitionError as error:
            return self.refuse(db, call, str(error))
        if isinstance(tool, JournalTool):
            effect = _effect(tool, call, caller.context)
            return steps.finish_local(db, call, effect, caller.epoch, self._clock())
        steps.intend(db, call.turn_id, call.seq, caller.epoch, self._clock())
        return StartedCall(call, tool)

    def _delegate(
        self, db: apsw.Connection, call: Call, tool: DelegatingTool, caller: CallContext
    ) -> ToolResult | Approval | None:
        """T4 with the beginning of the work, T5 once it has an outcome; None in between."""
        word = None if tool.begun(db, call) else self._require_approval(db, call, tool, caller)
        if word is not None:
            return word
        steps.intend(db, call.turn_id, call.seq, caller.epoch, self._clock())
        try:
            text = tool.outcome(db, caller.context, call)
        except ToolFailure as failure:
            return self.refuse(db, call, str(failure))
        if text is None:
            return None
        result = ToolResult(call_id=call.call_id, name=call.name, content=text)
        return steps.finish(db, call, result, self._clock())

    def _require_approval(
        self, db: apsw.Connection, call: Call, tool: HostTool | McpTool, caller: CallContext
    ) -> ToolResult | Approval | None:
        """Why a call may not run now: its refusal, or the question that waits; None if it may.

        The arguments of built-in tools are checked here, where every kind of call comes by: of
        models with and without native tool calls, of tasks without a model, of the daemon itself.
        """
        if not isinstance(tool, McpTool) and (call.name in TOOLS or call.name in INJECTED):
            problem = unknown_arguments(tool, call.arguments)
            if problem is not None:
                return self.refuse(db, call, problem)
        word = self._approvals.check(db, call, caller.definition, caller.context.address)
        return self.refuse(db, call, word) if isinstance(word, str) else word

    def refuse(self, db: apsw.Connection, call: Call, reason: str) -> ToolResult:
        """T5 of a call that does not run."""
        return steps.finish(db, call, failed_result(call, reason), self._clock())

    def _deny(self, db: apsw.Connection, call: Call, reason: str) -> ToolResult:
        audit.record(db, "policy", f"denied {call.name}: {reason}", call.idem_key, self._clock())
        text = f"the tool {call.name!r} is not allowed for this agent ({reason})"
        return steps.finish(db, call, failed_result(call, text), self._clock())


def _load(db: apsw.Connection, caller: CallContext, seq: int) -> Call:
    call = steps.load_call(db, caller.context.turn_id, seq)
    if call is None:
        raise JournalError(f"there is no call {caller.context.turn_id}:{seq}")
    return call


def _effect(
    tool: JournalTool, call: Call, context: ToolContext
) -> Callable[[apsw.Connection], ToolResult]:
    def run(db: apsw.Connection) -> ToolResult:
        try:
            text = tool.effect(db, context, call.arguments)
        except ToolFailure as failure:
            return failed_result(call, str(failure))
        return ToolResult(call_id=call.call_id, name=call.name, content=text)

    return run


def failed_result(call: Call, text: str) -> ToolResult:
    """A result that tells the model what went wrong."""
    return ToolResult(call_id=call.call_id, name=call.name, content=text, is_error=True)
