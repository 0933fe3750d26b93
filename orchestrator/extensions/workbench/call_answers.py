"""Answer calls of a trial that its record does not: by the policy, by people or by a model."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.agentsfile import AgentDefinition
from orchestrator.control.trials import Unrecorded
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.workbench.matching import CallKey
from orchestrator.extensions.workbench.recorded_turns import RecordedTurn
from orchestrator.extensions.workbench.trial_host import CallAnswer
from orchestrator.tools import policy
from thinker.formats.skill_file import FILE_NAME, SkillError, parse_skill
from thinker.protocol.fencing import compute_mark
from thinker.protocol.messages import ToolResult, ToolSpec
from thinker.protocol.methods import PlannedCall

READ_SKILL = "read_skill"
NOT_ASKED = CallAnswer("none")
UNRECORDED = "{name} was never called so in the record ({key})"
WOULD_ASK = "{name} would have asked for approval: {reason}"
CONFIGURED = "the configuration requires it"
FindObjection = Callable[[PlannedCall], Awaitable[str]]
InventResult = Callable[[PlannedCall], Awaitable[str]]


@dataclass(frozen=True, kw_only=True)
class CallAnswerer:
    """Answers the calls of one run of a ``turn``.

    ``definition`` is the agent as it is now, if there is one, and ``denied`` are tools that its
    kind of turn may not use. ``files`` are under trial. ``find_objection`` returns why a call would
    need an approval because of what its turn has read. ``invent`` makes a result up, or raises an
    `OrchestratorError`, and ``typed``
    are results of people by the keys of their calls.
    """

    turn: RecordedTurn
    definition: AgentDefinition | None
    tools: Mapping[str, ToolSpec]
    denied: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    unrecorded: Unrecorded = "stop"
    typed: Mapping[str, str] = field(default_factory=dict)
    find_objection: FindObjection
    invent: InventResult

    async def find_first(self, call: PlannedCall, key: CallKey) -> CallAnswer:
        """Answer a call whose record would hide what is tried."""
        del key
        text = self._find_skill(call)
        if text is None:
            return NOT_ASKED
        return CallAnswer("file", ToolResult(call_id=call.id, name=call.name, content=text))

    def _find_skill(self, call: PlannedCall) -> str | None:
        """Return the instructions of a skill under trial, if the call reads one."""
        if call.name != READ_SKILL or call.arguments.get("file"):
            return None
        for name, text in self.files.items():
            path = Path(name)
            if path.name != FILE_NAME:
                continue
            try:
                skill = parse_skill(text, path.parent.name, None)
            except SkillError:
                continue
            if skill.name == call.arguments.get("name"):
                return skill.instructions
        return None

    async def find_last(self, call: PlannedCall, key: CallKey) -> CallAnswer:
        """Answer a call that has no record, or say why the run stops there."""
        denied = self._deny_call(call)
        if denied is not None:
            return denied
        reason = await self._find_question(call)
        if reason:
            return CallAnswer("none", reason=WOULD_ASK.format(name=call.name, reason=reason))
        name = key.format_key()
        if name in self.typed:
            return CallAnswer("typed", self._build_result(call, self.typed[name]))
        if self.unrecorded == "invent":
            try:
                return CallAnswer("invented", self._build_result(call, await self.invent(call)))
            except OrchestratorError as error:
                return CallAnswer("none", reason=str(error))
        return CallAnswer("none", reason=UNRECORDED.format(name=call.name, key=name))

    def _deny_call(self, call: PlannedCall) -> CallAnswer | None:
        """Return what the model reads of a call that the policy denies."""
        if self.definition is None:
            return None
        allowed, denied = self.definition.allowed_tools, self.definition.denied_tools
        decision = policy.decide_tool(call.name, allowed, (*denied, *self.denied))
        if decision.allowed:
            return None
        text = f"the tool {call.name!r} is not allowed for this agent ({decision.reason})"
        result = ToolResult(call_id=call.id, name=call.name, content=text, is_error=True)
        return CallAnswer("denied", result)

    async def _find_question(self, call: PlannedCall) -> str:
        spec = self.tools.get(call.name)
        asked = self.definition is not None and policy.needs_approval(
            call.name, self.definition.approvals
        )
        if asked or (spec is not None and spec.approval):
            return CONFIGURED
        return await self.find_objection(call)

    def _build_result(self, call: PlannedCall, text: str) -> ToolResult:
        """Return a made-up result, which counts as a tool's words as a real one would."""
        return ToolResult(
            call_id=call.id,
            name=call.name,
            content=text,
            origin="tool",
            fence=compute_mark(self.turn.turn_id),
        )
