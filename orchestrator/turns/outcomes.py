"""The outcomes of an attempt to run a turn, and what an open turn may wait for."""

from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.errors import QuarantinedError
from orchestrator.toolcalls.executor import ApprovalNeeded, HandoffDone, ToolPending
from thinker.protocol.methods import StopReason, TurnResult


@dataclass(frozen=True)
class AgentPaused:
    """The agent may not call its model until its pause ends."""

    reason: str = ""

    def __str__(self) -> str:
        return f"the agent is paused: {self.reason}"


class AgentQuarantined(NamedTuple):
    """The agent's worker failed too often to be started again soon.

    ``again`` means that the turn has waited for it before, so that its chat knows.
    """

    error: QuarantinedError
    again: bool = False


@dataclass(frozen=True)
class WorkerDrained:
    """The worker stopped at a step boundary; the next worker resumes the turn."""


Reason = ApprovalNeeded | ToolPending | HandoffDone | AgentPaused | AgentQuarantined | WorkerDrained


class TurnFinished(NamedTuple):
    """The turn has its answer. ``committed`` means that T6 was part of its last step."""

    result: TurnResult
    committed: bool = False


class TurnSuspended(NamedTuple):
    """The turn stays open, without a worker, until the reason is over."""

    reason: Reason


class WorkerLost(NamedTuple):
    """The worker died before the turn ended."""

    problem: str


Outcome = TurnFinished | TurnSuspended | WorkerLost


def build_failure(text: str, error: str | None = None) -> TurnFinished:
    """Build the end of a turn without an answer; ``text`` goes to the chat."""
    failed = StopReason.MODEL_ERROR
    return TurnFinished(TurnResult(text=text, stop_reason=failed, error=error or text, notice=True))
