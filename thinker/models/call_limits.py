"""Limit the time and the length of answers, by agents.json and by the address of the server."""

from dataclasses import dataclass, replace

from thinker.models.base import Model, ModelRequest, ModelResponse, ModelWrapper
from thinker.models.endpoint import STANDARD_TIMEOUTS, ModelTimeouts
from thinker.protocol.local_addresses import is_local_address
from thinker.protocol.providers import Provider

# A local server may have to load the model, and a slow board reads 5 to 10 tokens a second.
LOCAL_TIMEOUTS = ModelTimeouts(first_token=900.0, idle=300.0, total=3600.0)
LOCAL_TOKENS = 4096  # of an answer; a small model may repeat itself until its window is full
# Servers that refuse a request if its length and the limit are more than the window together.
COUNTS_LIMIT = frozenset({"vllm"})


def choose_timeouts(provider: Provider, url: str) -> ModelTimeouts:
    """Return the deadlines for a provider at this address, with the provider's own settings."""
    usual = LOCAL_TIMEOUTS if is_local_address(url) else STANDARD_TIMEOUTS
    chosen = usual._replace(**provider.timeouts)
    return chosen._replace(total=max(usual.total, 2 * chosen.first_token))


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
