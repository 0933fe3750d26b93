"""Build models from settings."""

from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from fakes.network import AnsweringNetwork, Asked, answered

from thinker.http.exchange import HttpAnswer, WholeAnswer
from thinker.models.base import ModelRequest
from thinker.models.choose import choose_model
from thinker.models.retry import FallbackModel
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import UserMessage
from thinker.worker_errors import WorkerConfigError

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


@pytest.mark.parametrize(
    ("chosen", "environ", "url", "header"),
    [
        (
            settings("groq"),
            {"GROQ_API_KEY": " k\n"},
            "https://api.groq.com/openai/v1/chat/completions",
            ("authorization", "Bearer k"),
        ),
        (
            settings("ollama"),
            {},
            "http://127.0.0.1:11434/v1/chat/completions",
            ("authorization", None),
        ),
        (
            settings("openai", base_url="http://127.0.0.1:8000/v1"),
            {},
            "http://127.0.0.1:8000/v1/chat/completions",
            ("authorization", None),
        ),
    ],
)
async def test_a_provider_is_asked_at_its_address_with_its_key(
    chosen: ThinkerSettings, environ: dict[str, str], url: str, header: tuple[str, str | None]
) -> None:
    """At its own address, or at baseUrl, where a key is optional."""
    network = network_of()
    model = choose_model(chosen, environ, transport=network)
    response = await model.complete(REQUEST)
    await model.aclose()
    assert response.message.content == "openai"
    posted = next(request for request in network.requests if request.method == "POST")
    assert posted.url == url
    assert posted.headers.get(header[0]) == header[1]


async def test_server_of_another_vendor_gets_no_field_that_only_openai_knows() -> None:
    """Some refuse requests with fields that they do not know."""
    for own_url, expected in (("", True), ("https://api.mistral.ai/v1", False)):
        network = network_of()
        chosen = settings("openai", base_url=own_url, keys=("OPENAI_API_KEY",))
        model = choose_model(chosen, {"OPENAI_API_KEY": "k"}, transport=network)
        await model.complete(replace(REQUEST, cache_key="one"))
        await model.aclose()
        assert (b"prompt_cache_key" in network.requests[0].body) == expected


async def test_the_demo_needs_nothing() -> None:
    """The first run works without key and network."""
    model = choose_model(ThinkerSettings.read({}), {})
    assert model.name == "demo/demo"
    assert (await model.complete(REQUEST)).message.content


async def test_fallbacks_are_asked_in_order() -> None:
    """A bare name is a model of the same provider, even with a slash."""
    network = network_of(401, 401)
    chosen = settings(
        "groq",
        base_url="http://127.0.0.1:8000/v1",
        fallback_models=("qwen/qwen3-32b", "openai/gpt"),
    )
    model = choose_model(chosen, {"OPENAI_API_KEY": "k"}, transport=network)
    assert isinstance(model, FallbackModel)
    assert (await model.complete(REQUEST)).model == "openai/gpt"
    await model.aclose()
    posted = [request for request in network.requests if request.method == "POST"]
    assert [urlsplit(request.url).hostname for request in posted] == [
        "127.0.0.1",
        "127.0.0.1",
        "api.openai.com",
    ]
    assert b'"qwen/qwen3-32b"' in posted[1].body


@pytest.mark.parametrize(
    ("chosen", "environ", "message"),
    [
        (settings("groq"), {}, "agent 'work' uses groq without a key; set GROQ_API_KEY"),
        (settings("groq"), {"GROQ_API_KEY": "a b"}, "GROQ_API_KEY is not a valid key"),
        (settings("groq"), {"GROQ_API_KEY": "a\u00e9"}, "GROQ_API_KEY is not a valid key"),
        (settings("grok"), {}, "unknown llmProvider 'grok'; use one of anthropic, azure, bedrock"),
        (settings("ollama", ""), {}, "agent 'work' has no model for ollama; set \"model\""),
        (settings("ollama", base_url="localhost:1"), {}, "baseUrl 'localhost:1'; write it like"),
        (settings("ollama", base_url="http://[bad"), {}, "write it like"),
        (
            settings("ollama", fallback_models=("openai/gpt",)),
            {},
            "uses openai without a key; set OPENAI_API_KEY",
        ),
        (settings("ollama", fallback_models=("openai/",)), {}, "no model for openai"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(
    chosen: ThinkerSettings, environ: dict[str, str], message: str
) -> None:
    """The worker stops at its start, not at its first message."""
    with pytest.raises(WorkerConfigError) as caught:
        choose_model(chosen, environ)
    assert message in str(caught.value)
