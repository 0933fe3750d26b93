"""Check the limits of a turn between its steps.

Where: are steps, tokens and minutes of a turn limited?
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from thinker.protocol.messages import Usage
from thinker.protocol.methods import StopReason
from thinker.protocol.token_counts import estimate_tokens


class TurnLimits(NamedTuple):
    """The limits of a turn: model calls, their total tokens (0: no limit), and a deadline.

    ``deadline`` is in seconds of the clock that ``now`` is read from.
    """

    max_steps: int
    max_tokens: int
    deadline: float


@dataclass(frozen=True)
class TurnUsage:
    """The steps and tokens that a turn has used so far, in this process and in earlier ones."""

    steps: int = 0
    usage: Usage = field(default_factory=Usage)

    def add_step(self, usage: Usage) -> "TurnUsage":
        return TurnUsage(self.steps + 1, self.usage + usage)


def resolve_usage(usage: Usage, sizes: Callable[[], tuple[int, int]]) -> Usage:
    """Return the usage to count for a call: the reported one, or an estimate if there is none.

    ``sizes`` returns the numbers of characters sent and received.
    """
    if usage.prompt > 0 and usage.completion >= 0:
        return usage
    sent, received = sizes()
    return Usage(prompt=estimate_tokens(sent), completion=estimate_tokens(received))


def find_exceeded_limit(limits: TurnLimits, spent: TurnUsage, now: float) -> StopReason | None:
    """Return the limit that prevents another step, if any."""
    if now >= limits.deadline:
        return StopReason.DEADLINE
    if spent.steps >= limits.max_steps:
        return StopReason.MAX_STEPS
    if limits.max_tokens and spent.usage.total >= limits.max_tokens:
        return StopReason.MAX_TOKENS
    return None


def is_last_step(limits: TurnLimits, spent: TurnUsage) -> bool:
    """Return whether the next step is the last, which must answer without tools."""
    return spent.steps + 1 >= limits.max_steps
