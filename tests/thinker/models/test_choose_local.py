"""What a model of a local server gets, chosen by its address."""

import json

import pytest
from fakes.network import AnsweringNetwork, Asked, answered

from thinker.http.exchange import HttpAnswer
from thinker.models.base import ModelRequest
from thinker.models.call_limits import LOCAL_TOKENS
from thinker.models.choose import choose_model
from thinker.protocol import background, model_endpoints
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import UserMessage

ANSWER = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
LOCAL = "http://10.1.2.3:8080/v1"


def settings(**more: object) -> ThinkerSettings:
    """Settings of an agent with OpenAI's format."""
    return ThinkerSettings.model_validate({"llm_provider": "openai", "model": "m", **more})


@pytest.mark.parametrize(
    ("more", "sent"),
    [
        ({"base_url": LOCAL}, LOCAL_TOKENS),
        ({"base_url": LOCAL, "max_output_tokens": 128}, 128),
        ({"max_output_tokens": 128}, 128),
        ({}, None),
    ],
)
async def test_answers_of_agents_have_the_limit_of_their_settings(
    more: dict[str, object], sent: int | None
) -> None:
    """And of a local server a limit in any case."""
    bodies: list[dict[str, object]] = []

    def answer(asked: Asked) -> HttpAnswer:
        bodies.append(json.loads(asked.body))
        return answered(ANSWER)

    model = choose_model(
        settings(**more), {"OPENAI_API_KEY": "k"}, transport=AnsweringNetwork(answer)
    )
    await model.complete(ModelRequest("", (UserMessage(content="q"),)))
    await model.aclose()
    assert bodies[0].get("max_completion_tokens") == sent


def test_requests_outside_turns_wait_longer_for_a_local_model() -> None:
    """Also if only the small model is local."""
    assert model_endpoints.find_call_seconds(settings()) == background.MODEL_CALL_SECONDS
    for more in ({"base_url": LOCAL}, {"small_model": "ollama/tiny"}):
        assert model_endpoints.find_call_seconds(settings(**more)) == background.LOCAL_CALL_SECONDS
