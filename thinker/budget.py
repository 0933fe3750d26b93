"""The limits of a turn, checked in one place between steps."""

from collections.abc import Callable
from dataclasses import dataclass, field

from thinker.protocol.messages import Usage
from thinker.protocol.methods import StopReason


@dataclass(frozen=True)
class TurnLimits:
    """``max_steps`` model calls, ``max_tokens`` of all of them (0: no limit), and a wall clock.

    ``deadline`` is in seconds of the clock that ``now`` is read from.
    """

    max_steps: int
    max_tokens: int
    deadline: float


@dataclass(frozen=True)
class Spent:
    """What a turn has used so far, in this process and in those before it."""

    steps: int = 0
    usage: Usage = field(default_factory=Usage)

    def plus(self, usage: Usage) -> "Spent":
        """One step more."""
        return Spent(self.steps + 1, self.usage + usage)


def charged(usage: Usage, sizes: Callable[[], tuple[int, int]]) -> Usage:
    """What a call counts as: the provider's word, or an estimate when it gives none (F43).

    ``sizes`` counts the characters sent and received; four of them make a token, rounded up.
    """
    if usage.prompt > 0 and usage.completion >= 0:
        return usage
    sent, received = sizes()
    return Usage(prompt=-(-sent // 4), completion=-(-received // 4))


def exceeded(limits: TurnLimits, spent: Spent, now: float) -> StopReason | None:
    """The limit that ends the turn before its next step, if any."""
    if now >= limits.deadline:
        return StopReason.DEADLINE
    if spent.steps >= limits.max_steps:
        return StopReason.MAX_STEPS
    if limits.max_tokens and spent.usage.total >= limits.max_tokens:
        return StopReason.MAX_TOKENS
    return None


def is_last(limits: TurnLimits, spent: Spent) -> bool:
    """Whether the next step is the last: it must answer, so it may not call tools."""
    return spent.steps + 1 >= limits.max_steps
