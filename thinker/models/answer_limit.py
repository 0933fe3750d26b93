"""Limit the length of answers: by agents.json, and for local servers, which know no limit."""

from dataclasses import dataclass, replace

from thinker.models.base import Model, ModelRequest, ModelResponse, ModelWrapper
from thinker.protocol.local_addresses import is_local_address
from thinker.protocol.providers import Provider

LOCAL_TOKENS = 4096  # of an answer; a small model may repeat itself until its window is full
# Servers that refuse a request if its length and the limit are more than the window together.
COUNTS_LIMIT = frozenset({"vllm"})


@dataclass(eq=False)
class AnswerLimit(ModelWrapper):
    """A model whose answers have at most ``most`` tokens, or ``usual`` if a call names no limit."""

    most: int = 0  # 0: no limit
    usual: int = 0

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Call the model with the lowest of the limits."""
        asked = request.max_output_tokens or self.usual or self.most
        limit = min(asked, self.most) if self.most else asked
        return await self.model.complete(replace(request, max_output_tokens=limit or None))


def limit_answers(model: Model, most: int, provider: Provider, url: str) -> Model:
    """Return the model with at most ``most`` tokens an answer; 0 leaves the usual limit."""
    local = is_local_address(url) and provider.name not in COUNTS_LIMIT
    usual = LOCAL_TOKENS if local else 0
    return AnswerLimit(model, most, usual) if most or usual else model
