"""Which models are offered their tools as text."""

import json
from dataclasses import replace

import pytest
from fakes.network import AnsweringNetwork, Asked, answered
from fakes.scripted import spec

from thinker.http.exchange import HttpAnswer, WholeAnswer
from thinker.models.base import ModelRequest
from thinker.models.choose import choose_model
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import UserMessage

REQUEST = ModelRequest(system="", messages=(UserMessage(content="q"),))


OPENAI_ANSWER = {"choices": [{"message": {"content": "openai"}, "finish_reason": "stop"}]}


def network_of(*statuses: int) -> AnsweringNetwork:
    """Answers with these statuses, then with an answer."""
    left = list(statuses)

    def answer(request: Asked) -> HttpAnswer:
        if request.method == "GET":  # a question about the window
            return WholeAnswer(404, b"")
        if left:
            return WholeAnswer(left.pop(0), b"")
        return answered(OPENAI_ANSWER)

    return AnsweringNetwork(answer)


def settings(provider: str, model: str = "m", **more: object) -> ThinkerSettings:
    """Settings of the agent ``work``."""
    return ThinkerSettings.model_validate(
        {"agent_id": "work", "llm_provider": provider, "model": model, **more}
    )


@pytest.mark.parametrize(("mode", "line"), [("text", "- add()"), ("text-full", "- add: {")])
async def test_every_model_is_given_tools_as_the_agent_says(mode: str, line: str) -> None:
    """As text: none in the request, all described in the system prompt."""
    network = network_of()
    model = choose_model(
        settings("openai", tool_calls=mode),
        {"OPENAI_API_KEY": "k"},
        transport=network,
    )
    await model.complete(replace(REQUEST, tools=(spec("add"),)))
    await model.aclose()
    body = json.loads(network.requests[0].body)
    assert "tools" not in body
    assert line in body["messages"][0]["content"]
