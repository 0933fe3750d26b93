"""Errors of a runtime in a Python program.

* ThinkerError
  - RuntimeSpecError       a tool, an agent or a specification is wrong; says what to write
  - AgentRunError          an agent ended without an answer; ``stop_reason`` says why
  - PlanNotApprovedError   a plan was to be carried out that no one has approved
"""

from thinker.protocol.methods import StopReason
from thinker.worker_errors import ThinkerError


class RuntimeSpecError(ThinkerError):
    """A tool, an agent or a specification is wrong; the message says what to write."""


class AgentRunError(ThinkerError):
    """An agent ended without an answer."""

    def __init__(self, agent: str, stop_reason: StopReason, problem: str) -> None:
        super().__init__(f"the agent {agent!r} gave no answer ({stop_reason}): {problem}")
        self.agent = agent
        self.stop_reason = stop_reason


class PlanNotApprovedError(ThinkerError):
    """A plan was to be carried out that no one has approved; nothing was done."""

    def __init__(self, plan_id: str) -> None:
        super().__init__(
            f"plan {plan_id} is not approved, so nothing was carried out; a person approves it by "
            "Runtime.approve, or when the approve function of create_runtime asks"
        )
        self.plan_id = plan_id
