"""Rehearse a turn up to its first model call, to show what would be sent."""

from dataclasses import replace
from typing import NoReturn

from thinker.loop import Loop, LoopHost, LoopRequest
from thinker.models.base import Model, ModelRequest, ModelResponse, ModelWrapper, RehearsedRequest
from thinker.protocol.messages import ToolResult, UserMessage
from thinker.protocol.methods import StepCommit, StepCommitted


class RehearsedModel(ModelWrapper):
    """A model that shows its requests instead of sending them."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Build the request.

        Raises:
            RehearsedRequest: always.
        """
        return await self.model.complete(replace(request, rehearsed=True))


async def capture_first_request(request: LoopRequest, model: Model) -> RehearsedRequest:
    """Return the first call of a turn by a `RehearsedModel`; empty if the turn makes none."""
    try:
        await Loop(request, model, _NoHost()).run()
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
        self._refuse_use()

    def show_partial_answer(self, text: str) -> None:
        self._refuse_use(text)

    def is_draining(self) -> bool:
        return False

    def _refuse_use(self, *arguments: object) -> NoReturn:
        raise AssertionError(arguments)
