"""Models behind the Messages API, chosen by settings."""

import pytest
from fakes.network import AnsweringNetwork, Asked, answered

from thinker.http.exchange import HttpAnswer, WholeAnswer
from thinker.models.base import ModelRequest
from thinker.models.choose import choose_model
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import UserMessage

ANSWER = {
    "type": "message",
    "content": [{"type": "text", "text": "anthropic"}],
    "stop_reason": "end_turn",
}


def answer(request: Asked) -> HttpAnswer:
    """Answer, but not the question about the window."""
    return WholeAnswer(404, b"") if request.method == "GET" else answered(ANSWER)


@pytest.mark.parametrize(
    ("own_url", "url"),
    [
        ("", "https://api.anthropic.com/v1/messages"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1/messages"),
    ],
)
async def test_anthropic_is_asked_at_its_address_with_its_key(own_url: str, url: str) -> None:
    """At its own address, or at baseUrl."""
    network = AnsweringNetwork(answer)
    fields = {"agent_id": "work", "llm_provider": "anthropic", "model": "m", "base_url": own_url}
    settings = ThinkerSettings.model_validate(fields)
    model = choose_model(settings, {"ANTHROPIC_API_KEY": "k"}, transport=network)
    response = await model.complete(ModelRequest("", (UserMessage(content="q"),)))
    await model.aclose()
    assert response.message.content == "anthropic"
    posted = next(request for request in network.requests if request.method == "POST")
    assert (posted.url, posted.headers["x-api-key"]) == (url, "k")
