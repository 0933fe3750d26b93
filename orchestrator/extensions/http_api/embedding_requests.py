"""``POST /v1/embeddings``: vectors from an agent's embeddings model, in OpenAI's format."""

from base64 import b64encode
from collections.abc import Iterator
from http import HTTPStatus
from typing import Annotated, Literal
from uuid import uuid4

import orjson
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from orchestrator.agentsfile import AgentDefinition
from orchestrator.control.operations import DaemonOperations
from orchestrator.errors import WorkerError
from orchestrator.extensions.http_api.parsed_request import Name
from orchestrator.extensions.http_api.request_bodies import (
    make_validation_problem,
    parse_json_object,
)
from orchestrator.journal.turns import pauses
from orchestrator.spending.metered_calls import MeteredCall, MeteredCalls
from orchestrator.web.error_response import (
    ApiProblem,
    make_invalid_problem,
)
from thinker.protocol.background import (
    MAX_EMBEDDED_TEXTS,
    TEXTS_EMBED,
    EmbeddingRequest,
    EmbeddingResult,
)
from thinker.protocol.messages import JsonObject, Usage
from thinker.protocol.vectors import unpack_vector

MAX_STRINGS = 2048  # in one request, OpenAI's limit
TOKENS = "arrays of tokens are not supported, as each model counts its own; send text"


class EmbeddingsFields(BaseModel):
    """The body of ``POST /v1/embeddings``; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: Name
    input: tuple[str, ...]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, Field(ge=1, le=65536)] | None = None


def parse_embeddings(body: JsonObject) -> EmbeddingsFields:
    """Parse a request for vectors.

    Raises:
        ApiProblem: the body does not follow the format, or has tokens instead of strings.
    """
    texts = body.get("input")
    if isinstance(texts, str):
        texts = [texts]
    if not isinstance(texts, list) or not texts:
        raise make_invalid_problem("input", "input must be a string or a list of strings")
    if any(not isinstance(text, str) for text in texts):
        tokens = all(isinstance(text, int | list) for text in texts)
        raise make_invalid_problem(
            "input", TOKENS if tokens else "input must be a string or a list of strings"
        )
    if len(texts) > MAX_STRINGS:
        raise make_invalid_problem("input", f"input must have at most {MAX_STRINGS} strings")
    if not all(texts):
        raise make_invalid_problem("input", "input must have no empty text")
    given: dict[str, JsonValue] = {key: value for key, value in body.items() if value is not None}
    try:
        return EmbeddingsFields.model_validate({**given, "input": texts})
    except ValidationError as error:
        raise make_validation_problem(error, given) from None


def parse_embeddings_body(raw: bytes) -> EmbeddingsFields:
    """Parse the bytes of a body as `parse_embeddings` does."""
    return parse_embeddings(parse_json_object(raw))


async def embed_texts(
    daemon: DaemonOperations, definition: AgentDefinition, fields: EmbeddingsFields
) -> bytes:
    """Return the JSON document with the vectors.

    Raises:
        ApiProblem: the agent has no embeddings, is paused, or its model does not answer.
        JournalError: the usage cannot be counted.
    """
    agent_id = definition.agent_id
    calls = MeteredCalls(daemon.store, daemon.supervisor, daemon.guard)
    if definition.embeddings is None:
        raise ApiProblem(
            HTTPStatus.BAD_REQUEST,
            f'agent {agent_id!r} has no embeddings; set its "embeddings" in agents.json, such as'
            ' {"provider": "openai", "model": "text-embedding-3-small"}',
            code="embeddings_not_configured",
            param="model",
        )
    vectors, usage = list[bytes](), Usage()
    for texts in _split_texts(fields.input):
        answer = await _request_vectors(calls, agent_id, texts, fields.dimensions)
        vectors += answer.vectors
        usage += answer.usage
    return orjson.dumps(
        {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": _format_vector(vector, fields)}
                for index, vector in enumerate(vectors)
            ],
            "model": agent_id,
            "usage": {"prompt_tokens": usage.prompt, "total_tokens": usage.total},
        }
    )


def _split_texts(texts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for begin in range(0, len(texts), MAX_EMBEDDED_TEXTS):
        yield texts[begin : begin + MAX_EMBEDDED_TEXTS]


def _format_vector(vector: bytes, fields: EmbeddingsFields) -> str | tuple[float, ...]:
    if fields.encoding_format == "base64":  # 32-bit floats, little-endian, as OpenAI's
        return b64encode(vector).decode()
    return unpack_vector(vector)


async def _request_vectors(
    calls: MeteredCalls, agent_id: str, texts: tuple[str, ...], dimensions: int | None
) -> EmbeddingResult:
    name, size = f"embedding/{uuid4().hex}", sum(map(len, texts)) // 4 + 1
    request = EmbeddingRequest(texts=texts, whole=True, dimensions=dimensions)
    try:
        answer = await calls.ask_worker(
            MeteredCall(name, agent_id, agent_id, size), TEXTS_EMBED, request, EmbeddingResult
        )
    except WorkerError as error:
        raise ApiProblem(HTTPStatus.BAD_GATEWAY, str(error), code="model_error") from error
    if answer is None:
        pause = await calls.store.transact(pauses.find_pause, agent_id)
        why = f"the agent is paused: {pause.reason}" if pause else "the agent's budget is used up"
        raise ApiProblem(HTTPStatus.TOO_MANY_REQUESTS, why, code="agent_paused")
    await calls.store.transact(calls.gate.build_rules().settle_work, agent_id, name, answer)
    return answer
