"""One run of an agent in this process: its tools, and the messages to remember."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog
from pydantic_core import to_json

from orchestrator.extensions.runtime.defined_tools import DefinedTool, RunContext
from orchestrator.extensions.runtime.plan_approval import (
    ApprovalRequest,
    Approvals,
    EventKind,
    RuntimeEvent,
)
from thinker.protocol.messages import (
    AssistantMessage,
    JsonObject,
    Message,
    ToolResult,
    UserMessage,
)
from thinker.protocol.methods import PlannedCall, StepCommit, StepCommitted

log = structlog.get_logger()


@dataclass
class AgentRun:
    """The loop's host in a program: numbers the calls, runs them and keeps their results."""

    agent: str
    tenant: str
    tools: Mapping[str, DefinedTool]
    approvals: Approvals
    _calls: list[PlannedCall] = field(default_factory=list, init=False)
    _results: dict[int, ToolResult] = field(default_factory=dict, init=False)
    _steps: list[tuple[AssistantMessage, range]] = field(default_factory=list, init=False)

    async def commit_step(self, commit: StepCommit) -> StepCommitted:
        """Give the calls of a response their numbers."""
        numbers = range(len(self._calls), len(self._calls) + len(commit.calls))
        self._calls += commit.calls
        if commit.calls:
            self._steps.append((commit.response, numbers))
        return StepCommitted(seq=len(self._steps), call_seqs=tuple(numbers))

    async def call_tool(self, seq: int) -> ToolResult:
        """Run a call, after approval if needed; a failure becomes the call's result."""
        call = self._calls[seq]
        content, failed = await self._run_tool(self.tools[call.name], call)
        self._results[seq] = ToolResult(
            call_id=call.id, name=call.name, content=content, is_error=failed
        )
        self._send_event("tool_result", call.name, content)
        return self._results[seq]

    async def take_new_messages(self) -> tuple[UserMessage, ...]:
        """Return nothing: messages do not join a run."""
        return ()

    def show_partial_answer(self, text: str) -> None:
        """Tell the program the answer so far."""
        self._send_event("text", self.agent, text)

    def is_draining(self) -> bool:
        return False

    def build_conversation(self, prompt: str, answer: str) -> tuple[Message, ...]:
        """Return the run as messages: the prompt, the calls with their results, the answer."""
        found: list[Message] = [UserMessage(content=prompt)]
        for response, numbers in self._steps:
            found += [response, *map(self._find_result, numbers)]
        return (*found, AssistantMessage(content=answer)) if answer else tuple(found)

    async def _run_tool(self, tool: DefinedTool, call: PlannedCall) -> tuple[str, bool]:
        """Return the text of a call's result, and whether the call failed."""
        try:
            if tool.needs(call.arguments) is not False and not await self._ask_approval(call):
                return _format_error("a person refused this call; do not repeat it"), True
            return await tool(call.arguments, RunContext(self.agent, self.tenant, call.id)), False
        except Exception as error:  # noqa: BLE001 - a tool is the program's code
            log.warning("tool_failed", agent=self.agent, tool=call.name, error=repr(error))
            return _format_error(str(error) or type(error).__name__), True

    async def _ask_approval(self, call: PlannedCall) -> bool:
        given = self.agent, self.tenant, call.name, call.arguments
        return await self.approvals.ask(ApprovalRequest("tool", *given))

    def _find_result(self, seq: int) -> ToolResult:
        call = self._calls[seq]
        refused = ToolResult(
            call_id=call.id, name=call.name, content=call.rejected or "", is_error=True
        )
        return self._results.get(seq, refused)

    def _send_event(self, kind: EventKind, name: str, value: str) -> None:
        self.approvals.tell(RuntimeEvent(kind, self.agent, self.tenant, name, value))


def _format_error(problem: str) -> str:
    content: JsonObject = {"error": problem}
    return to_json(content).decode()
