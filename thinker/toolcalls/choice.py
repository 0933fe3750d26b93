"""Whether the model does what the tool choice asks, over the steps of one turn. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from thinker.protocol.messages import AUTO, ToolChoice
from thinker.protocol.methods import PlannedCall

MAX_MISSES = 2  # answers without the call that is due after which the model is asked again


@dataclass(frozen=True)
class ToolChoiceState:
    """What is still asked: a choice is met by the first call that may run, and is then `AUTO`."""

    choice: ToolChoice
    misses: int = 0

    @property
    def failed(self) -> bool:
        """Whether the model was asked often enough."""
        return self.misses > MAX_MISSES

    @property
    def reminder(self) -> str:
        """What the model is told when it answered without the call."""
        wanted = f"the tool {self.choice.name!r}" if self.choice.name else "a tool"
        return f"(You must call {wanted} before you answer. Call it now.)"

    def after(self, calls: Sequence[PlannedCall]) -> "ToolChoiceState":
        """What is asked after a response with these calls."""
        if not self.choice.demands:
            return self
        if any(call.rejected is None for call in calls):
            return ToolChoiceState(AUTO)
        return replace(self, misses=self.misses + 1)


def unmeetable(choice: ToolChoice, offered: Collection[str]) -> str | None:
    """Why no answer could meet the choice, for the operator."""
    if choice.mode == "required" and not offered:
        return "a tool call is required, but no tool is offered; offer one or set toolChoice auto"
    if choice.mode == "function" and choice.name not in offered:
        return f"the tool {choice.name!r} must be called, but is not offered; allow it"
    return None
