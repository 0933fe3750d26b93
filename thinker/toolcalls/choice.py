"""Track whether the model meets the tool choice over the steps of one turn."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from thinker.protocol.messages import AUTO, ToolChoice
from thinker.protocol.methods import PlannedCall

MAX_MISSES = 2  # answers without the required call that are retried


@dataclass(frozen=True)
class ToolChoiceState:
    """The choice still to meet; the first call that may run meets it, and `AUTO` follows."""

    choice: ToolChoice
    misses: int = 0

    @property
    def has_failed(self) -> bool:
        return self.misses > MAX_MISSES

    @property
    def reminder(self) -> str:
        """The message for a model that answered without the required call."""
        tool = f"the tool {self.choice.name!r}" if self.choice.name else "a tool"
        return f"(You must call {tool} before you answer. Call it now.)"

    def apply_calls(self, calls: Sequence[PlannedCall]) -> "ToolChoiceState":
        if not self.choice.requires_call:
            return self
        if any(call.rejected is None for call in calls):
            return ToolChoiceState(AUTO)
        return replace(self, misses=self.misses + 1)


def find_choice_problem(choice: ToolChoice, offered: Collection[str]) -> str | None:
    """Return the reason why no answer could meet the choice, for the operator, or None."""
    if choice.mode == "required" and not offered:
        return "a tool call is required, but no tool is offered; offer one or set toolChoice auto"
    if choice.mode == "function" and choice.name not in offered:
        return f"the tool {choice.name!r} must be called, but is not offered; allow it"
    return None
