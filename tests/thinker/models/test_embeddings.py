"""An embeddings endpoint: the request, the answer, and every failure."""

from collections.abc import Callable
from typing import Any

import pytest
from fakes.embeddings_api import EmbeddingsApi, vector
from fakes.model_api import PROMPT_TOKENS, Reply

from thinker.models.choose import choose_embeddings
from thinker.models.embeddings import EmbeddingModel
from thinker.protocol.background import MAX_EMBEDDED_CHARACTERS, EmbeddingRequest
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import Usage
from thinker.protocol.vectors import pack_vector
from thinker.worker_errors import ModelError, WorkerConfigError

KEY = "sk-secret"


def settings(**fields: Any) -> ThinkerSettings:
    """An agent with an embeddings model."""
    return ThinkerSettings.model_validate({"embeddings_model": "small", **fields})


def model_at(api: EmbeddingsApi, **fields: Any) -> EmbeddingModel:
    """Return the model behind the fake."""
    base = {"embeddings_provider": "openai", "embeddings_base_url": f"{api.url}/v1"}
    found = choose_embeddings(settings(**base, **fields), {"OPENAI_API_KEY": KEY})
    assert found is not None
    return found


async def test_texts_become_vectors_in_their_order_and_are_counted() -> None:
    """One request; long texts are cut; the key and the dimensions are sent."""
    async with EmbeddingsApi() as api:
        model = model_at(api, embeddings_dimensions=256)
        found = await model.embed_texts(
            EmbeddingRequest(texts=("a dog", "x" * (MAX_EMBEDDED_CHARACTERS + 1)))
        )
        await model.aclose()
    assert found.vectors == (pack_vector(vector("a dog")), pack_vector(vector("x")))
    assert (found.model, found.usage) == ("openai/small", Usage(prompt=PROMPT_TOKENS))
    (request,) = api.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "small",
        "dimensions": 256,
        "input": ["a dog", "x" * MAX_EMBEDDED_CHARACTERS],
    }


@pytest.mark.parametrize(
    ("model", "question", "passage"),
    [
        ("intfloat/multilingual-e5-small", "query: tea?", "passage: tea?"),
        ("multilingual-e5-large-instruct", "tea?", "tea?"),
        ("nomic-embed-text:v1.5", "search_query: tea?", "search_document: tea?"),
        ("small", "tea?", "tea?"),
    ],
)
async def test_question_and_text_have_the_prefixes_of_their_model(
    model: str, question: str, passage: str
) -> None:
    """As its card asks for; what a client sends is left as it is."""
    async with EmbeddingsApi() as api:
        found = model_at(api, embeddings_model=model)
        for fields in ({"question": True}, {}, {"whole": True}):
            await found.embed_texts(EmbeddingRequest(texts=("tea?",), **fields))
        await found.aclose()
        assert api.texts() == [question, passage, "tea?"]


async def test_server_that_counts_nothing_is_charged_by_an_estimate() -> None:
    """Four characters a token."""
    async with EmbeddingsApi() as api:
        api.spoil = lambda document: document.pop("usage")
        model = model_at(api)
        assert (await model.embed_texts(EmbeddingRequest(texts=("eight ch",)))).usage == Usage(
            prompt=2
        )
        await model.aclose()


def _nan(document: dict[str, Any]) -> None:
    document["data"][0]["embedding"][0] = None


def _zero(document: dict[str, Any]) -> None:
    document["data"][0]["embedding"] = [0.0] * 5


def _short(document: dict[str, Any]) -> None:
    document["data"][0]["embedding"].pop()


def _empty(document: dict[str, Any]) -> None:
    for item in document["data"]:
        item["embedding"] = []


@pytest.mark.parametrize(
    "spoil",
    [
        _nan,
        _zero,
        _short,
        _empty,
        lambda document: document["data"].pop(),
        lambda document: document.pop("data"),
        lambda document: document.update(data={}),
        lambda document: document.update(error={"message": "no"}),
    ],
    ids=["null", "zero", "short", "empty", "too few", "no data", "no list", "error"],
)
async def test_answer_that_cannot_be_used_is_a_model_error(
    spoil: Callable[[dict[str, Any]], None],
) -> None:
    """Whatever the server sends, no other error is raised."""
    async with EmbeddingsApi() as api:
        api.spoil = spoil
        model = model_at(api)
        with pytest.raises(ModelError):
            await model.embed_texts(EmbeddingRequest(texts=("a dog", "some tea")))
        await model.aclose()


@pytest.mark.parametrize(
    "reply",
    [
        Reply(f"no {KEY}", status=401),
        Reply("busy", status=503),
        Reply(fault="cut"),
        Reply(fault="broken_json"),
    ],
    ids=["key", "busy", "cut", "broken"],
)
async def test_failure_is_a_model_error_without_the_key(reply: Reply) -> None:
    """As for any model."""
    async with EmbeddingsApi() as api:
        api.script.append(reply)
        model = model_at(api)
        with pytest.raises(ModelError) as caught:
            await model.embed_texts(EmbeddingRequest(texts=("a dog",)))
        await model.aclose()
    assert KEY not in str(caught.value)


async def test_server_without_a_provider_is_asked_without_a_key() -> None:
    """A key goes only where agents.json says."""
    async with EmbeddingsApi() as api:
        base = settings(embeddings_base_url=f"{api.url}/v1")
        model = choose_embeddings(base, {"OPENAI_API_KEY": KEY})
        assert model is not None
        assert (await model.embed_texts(EmbeddingRequest(texts=("x",)))).model == "custom/small"
        await model.aclose()
    assert "authorization" not in api.requests[0].headers


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "cannot have embeddings"),
        ({"embeddings_provider": "anthropic"}, "cannot have embeddings of 'anthropic'"),
        ({"embeddings_provider": "openai"}, "without a key"),
        ({"embeddings_base_url": "ftp://x"}, "baseUrl"),
    ],
)
def test_what_cannot_be_asked_is_a_configuration_error(
    fields: dict[str, str], problem: str
) -> None:
    """The message says what to change."""
    with pytest.raises(WorkerConfigError, match=problem):
        choose_embeddings(settings(**fields), {})


def test_agent_without_a_model_has_none() -> None:
    """Without configuration nothing is called."""
    assert choose_embeddings(ThinkerSettings(), {}) is None
