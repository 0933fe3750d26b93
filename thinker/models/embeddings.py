"""Embed text through any server with OpenAI's ``/embeddings``."""

import re
from dataclasses import dataclass, field

from pydantic import BaseModel

from thinker import budget
from thinker.http.exchange import Network
from thinker.models.base import ModelRequest
from thinker.models.collector import Collector
from thinker.models.endpoint import ModelEndpoint, ModelTimeouts
from thinker.models.failures import Account
from thinker.protocol.background import MAX_EMBEDDED_CHARACTERS, EmbeddingRequest, EmbeddingResult
from thinker.protocol.messages import JsonObject, Usage
from thinker.protocol.model_endpoints import build_headers, build_use_url
from thinker.protocol.providers import Provider
from thinker.protocol.token_counts import OpenAICounts
from thinker.protocol.vectors import pack_vector

# What models expect before a question, and before a text that may answer it: from their cards.
PREFIXES = (
    (re.compile(r"\be5-(small|base|large)(?!.*instruct)"), "query: ", "passage: "),
    (re.compile(r"\bnomic-embed-text"), "search_query: ", "search_document: "),
)
TIMEOUTS = ModelTimeouts(connect=5.0, total=30.0)  # a local server may have to load the model first


class _Item(BaseModel):
    index: int = 0
    embedding: list[float]


class _Answer(BaseModel):
    data: list[_Item]
    usage: OpenAICounts | None = None


@dataclass
class _Vectors(Collector):
    """Collects one answer of ``count`` vectors of the same dimension."""

    count: int = 0
    vectors: list[bytes] = field(default_factory=list)

    def feed(self, data: bytes) -> bool:
        answer = _Answer.model_validate_json(data)
        found = sorted(answer.data, key=lambda item: item.index)
        self.vectors = [pack_vector(item.embedding) for item in found]
        if len(found) != self.count or len({len(item.embedding) for item in found}) > 1:
            raise ValueError(f"expected {self.count} vectors of one length")
        self._usage = answer.usage.to_usage() if answer.usage else Usage()
        self.finished = True
        return True


class EmbeddingModel:
    """One embeddings model; with ``dimensions`` 0 the vectors have the model's default length."""

    def __init__(
        self,
        provider: Provider,
        model: str,
        dimensions: int,
        base_url: str,
        api_key: str,
        transport: Network | None = None,
    ) -> None:
        self._account = Account(provider, model, api_key)
        url, sent = (
            build_use_url("embeddings", provider, base_url, model),
            build_headers(provider, api_key),
        )
        self._endpoint = ModelEndpoint(self._account, url, sent, transport, TIMEOUTS)
        self._prefixes = next((both for named, *both in PREFIXES if named.search(model)), ("", ""))
        self._body: JsonObject = {"model": model}
        if dimensions:
            self._body["dimensions"] = dimensions
        self.name = f"{provider.name}/{model}"

    async def embed_texts(self, request: EmbeddingRequest) -> EmbeddingResult:
        """Return the vectors of the texts, in their order, and the usage.

        Raises:
            ModelError: the embeddings model did not answer; trying again later may help.
        """
        inputs = list(request.texts)
        if not request.whole:
            prefix = self._prefixes[0 if request.question else 1]
            inputs = [prefix + text[:MAX_EMBEDDED_CHARACTERS] for text in inputs]
        answer = _Vectors(self._account.provider.name, self._account.model, count=len(inputs))
        body: JsonObject = {**self._body, "input": [*inputs]}
        if request.dimensions is not None:
            body["dimensions"] = request.dimensions
        response = await self._endpoint.post_request(body, lambda: answer, ModelRequest("", ()))
        usage = budget.resolve_usage(response.usage, lambda: (sum(map(len, inputs)), 0))
        return EmbeddingResult(
            model=self.name,
            usage=usage,
            call_ids=response.call_ids,
            vectors=tuple(answer.vectors),
        )

    async def aclose(self) -> None:
        await self._endpoint.aclose()
