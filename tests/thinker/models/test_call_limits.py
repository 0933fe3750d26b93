"""How long an answer may take and become."""

from dataclasses import replace

import pytest
from fakes.scripted import ScriptedModel, says

from thinker.models.base import ModelRequest
from thinker.models.call_limits import (
    LOCAL_TIMEOUTS,
    LOCAL_TOKENS,
    choose_timeouts,
    limit_answers,
)
from thinker.models.endpoint import STANDARD_TIMEOUTS, ModelTimeouts
from thinker.protocol.messages import UserMessage
from thinker.protocol.providers import PROVIDERS

NEAR, FAR = "http://192.168.0.4:8080/v1", "https://llm.example/v1"


@pytest.mark.parametrize(
    ("provider", "url", "most", "asked", "sent"),
    [
        ("openai", FAR, 0, None, None),
        ("openai", FAR, 0, 50, 50),
        ("openai", FAR, 300, None, 300),
        ("openai", FAR, 300, 4000, 300),
        ("openai", FAR, 300, 50, 50),
        ("openai", NEAR, 0, None, LOCAL_TOKENS),
        ("llamacpp", NEAR, 9000, None, LOCAL_TOKENS),
        ("llamacpp", NEAR, 9000, 8000, 8000),
        ("vllm", NEAR, 0, None, None),
    ],
)
async def test_the_lowest_limit_is_sent(
    provider: str, url: str, most: int, asked: int | None, sent: int | None
) -> None:
    """A local server gets a limit even if nobody names one, as it knows none itself."""
    inner = ScriptedModel(says("fine"))
    model = limit_answers(inner, most, PROVIDERS[provider], url)
    request = ModelRequest("", (UserMessage(content="q"),), max_output_tokens=asked)
    await model.complete(request)
    assert inner.requests[0].max_output_tokens == sent


@pytest.mark.parametrize(
    ("url", "own", "expected"),
    [
        ("https://llm.example/v1", {}, STANDARD_TIMEOUTS),
        ("http://10.0.0.3:8080/v1", {}, LOCAL_TIMEOUTS),
        ("http://board.local/v1", {"first_token": 3000.0}, ModelTimeouts(10, 3000, 300, 6000)),
        ("https://llm.example/v1", {"connect": 30, "idle": 5}, ModelTimeouts(30, 90, 5, 600)),
    ],
)
def test_the_address_decides_how_long_to_wait(
    url: str, own: dict[str, float], expected: ModelTimeouts
) -> None:
    """Unless agents.json says it; the whole answer may take longer than its first word."""
    provider = replace(PROVIDERS["openai"], timeouts=own)
    assert choose_timeouts(provider, url) == expected
