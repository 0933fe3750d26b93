"""Whom the loop tells of its steps, and asks for what they need."""

from typing import Protocol

from thinker.protocol.messages import ToolResult, UserMessage
from thinker.protocol.methods import StepCommit, StepCommitted


class LoopHost(Protocol):
    """Who keeps the turn: the supervisor, or nobody when a worker is run by hand."""

    async def commit(self, commit: StepCommit) -> StepCommitted:
        """T3: make a response and its calls durable, or T6 with it when it ends the turn."""

    async def call_tool(self, seq: int) -> ToolResult:
        """Run a committed call and return its durable result."""

    async def entered(self) -> tuple[UserMessage, ...]:
        """What people said since the last step, durably part of this turn from now on."""

    def show(self, text: str) -> None:
        """Show the answer so far; nothing depends on it."""

    def draining(self) -> bool:
        """Whether to stop at the next step boundary."""
