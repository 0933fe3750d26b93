"""How long an answer may become."""

import pytest
from fakes.scripted import ScriptedModel, says

from thinker.models.answer_limit import LOCAL_TOKENS, limit_answers
from thinker.models.base import ModelRequest
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
