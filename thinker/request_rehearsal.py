"""Rehearse a turn up to its next model call, to show what would be sent."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from thinker.loop import Loop, LoopHost, LoopRequest
from thinker.models.base import Model, ModelRequest, ModelResponse, ModelWrapper, RehearsedRequest
from thinker.protocol.messages import ToolResult, UserMessage
from thinker.protocol.methods import RecordedStep, StepCommit, StepCommitted


class RehearsedModel(ModelWrapper):
    """A model that shows its requests instead of sending them."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Build the request.

        Raises:
            RehearsedRequest: always.
        """
        return await self.model.complete(replace(request, rehearsed=True))


async def capture_next_request(
    request: LoopRequest, model: Model, recorded: Sequence[RecordedStep]
) -> RehearsedRequest:
    """Return a turn's call of a `RehearsedModel` after these ended steps; empty without one."""
    try:
        await Loop(request, model, _NoHost()).run(recorded)
    except RehearsedRequest as sent:
        return sent
    return RehearsedRequest(b"")


class _NoHost(LoopHost):
    """The host of a turn that ends before it uses its host."""

    async def commit_step(self, commit: StepCommit) -> StepCommitted:
        self._refuse_use(commit)

    async def call_tool(self, seq: int) -> ToolResult:
        self._refuse_use(seq)

    async def take_new_messages(self) -> tuple[UserMessage, ...]:
        return ()

    def show_partial_answer(self, text: str) -> None:
        """Show nothing: what recorded steps said was shown."""

    def is_draining(self) -> bool:
        return False

    def _refuse_use(self, *arguments: object) -> NoReturn:
        raise AssertionError(arguments)
