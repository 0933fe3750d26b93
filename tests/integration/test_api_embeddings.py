"""Vectors of agents: OpenAI's own client against the real daemon."""

from pathlib import Path
from typing import Any

import openai
import pytest
from fakes.api_client import endpoints_of
from fakes.embeddings_api import EmbeddingsApi, vector
from fakes.journal import reading_in
from fakes.model_api import PROMPT_TOKENS, Reply

from thinker.protocol.messages import JsonObject
from thinker.protocol.vectors import pack_vector, unpack_vector

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="api")]


def expected(text: str) -> list[float]:
    """The vector of a text, of length one."""
    return list(unpack_vector(pack_vector(vector(text))))


def config(api: EmbeddingsApi, **fields: Any) -> JsonObject:
    """An agent with embeddings, and one without."""
    embeddings = {"model": "small", "baseUrl": f"{api.url}/v1"}
    work = {"agentId": "work", "llmProvider": "demo", "embeddings": embeddings, **fields}
    return {"agents": [work, {"agentId": "plain", "llmProvider": "demo"}]}


async def test_texts_become_vectors_and_are_counted(tmp_path: Path) -> None:
    """In both encodings and in order; long texts are whole, and many go in several calls."""
    async with EmbeddingsApi() as api, endpoints_of(tmp_path, config(api)) as found:
        create = found.client.embeddings.create
        one = await create(model="work", input="my dog")  # the client asks for base64
        assert (one.object, one.model, one.data[0].object, one.data[0].index) == (
            *("list", "work", "embedding"),
            0,
        )
        assert one.data[0].embedding == expected("my dog")
        assert one.usage.prompt_tokens == one.usage.total_tokens == PROMPT_TOKENS
        long = "dog " * 2000
        texts = [long, "tea", "rain"]
        many = await create(
            model="work", input=texts, encoding_format="float", dimensions=5, user="someone"
        )
        assert [item.index for item in many.data] == [0, 1, 2]
        for item, text in zip(many.data, texts, strict=True):
            assert item.embedding == pytest.approx(expected(text))
        assert api.requests[-1].body["input"][0] == long
        assert api.requests[-1].body["dimensions"] == 5
        before = len(api.requests)
        lot = await create(model="work", input=["tea"] * 130)
        assert (len(lot.data), len(api.requests) - before) == (130, 3)
        assert lot.usage.prompt_tokens == 3 * PROMPT_TOKENS
    with reading_in(tmp_path) as db:
        counted = db.execute(
            "SELECT count(*), sum(prompt) FROM model_call"
            " WHERE model = 'custom/small' AND state = 'settled' AND agent_id = 'work'"
        ).get
    assert counted == (len(api.requests), PROMPT_TOKENS * len(api.requests))


async def test_what_cannot_be_embedded_is_refused_by_name(tmp_path: Path) -> None:
    """A model that fails, and a budget that is used up, too."""
    replies: list[Reply] = []
    async with (
        EmbeddingsApi(lambda _: replies.pop() if replies else Reply()) as api,
        endpoints_of(tmp_path, config(api, budget={"tokensPerDay": 300})) as found,
    ):
        create: Any = found.client.embeddings.create
        for sent, param, said in (
            ({"model": "plain", "input": "a"}, "model", 'set its "embeddings" in agents.json'),
            ({"input": [1, 2]}, "input", "arrays of tokens are not supported"),
            ({"input": [[1, 2], [3]]}, "input", "arrays of tokens are not supported"),
            ({"input": ["a", ""]}, "input", "no empty text"),
            ({"input": []}, "input", "a string or a list of strings"),
            ({"input": ["a", 1]}, "input", "a string or a list of strings"),
            ({"input": ["a"] * 2049}, "input", "at most 2048 strings"),
            ({"input": "a", "dimensions": 0}, "dimensions", "greater than or equal to 1"),
            ({"input": "a", "encoding_format": "hex"}, "encoding_format", "'float' or 'base64'"),
        ):
            with pytest.raises(openai.BadRequestError, match=said) as caught:
                await create(**{"model": "work", **sent})
            assert caught.value.param == param
        with pytest.raises(openai.NotFoundError) as unknown:
            await create(model="unknown", input="a")
        assert unknown.value.code == "model_not_found"
        assert api.requests == []
        replies.append(Reply("no such key", status=401))
        with pytest.raises(openai.InternalServerError, match="custom refused the key") as failed:
            await create(model="work", input="a")
        assert failed.value.status_code == 502
        await create(model="work", input="a")
        with pytest.raises(openai.RateLimitError, match="budget is used up"):
            await create(model="work", input="a" * 2000)
