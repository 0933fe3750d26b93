"""Which model servers listen on this machine, for ``"llmProvider": "auto"``."""

import anyio
from pydantic import BaseModel, ValidationError

from orchestrator.launch import Endpoint
from thinker.protocol.net import HttpError, HttpTransport, open_client
from thinker.protocol.providers import PROVIDERS, Provider

PROBE_TIMEOUT = 0.5  # seconds; a local server answers at once or is not there


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    data: list[_Model]


async def local_servers(transport: HttpTransport | None = None) -> tuple[Endpoint, ...]:
    """The local servers that answer and have a model, in the order of the provider table."""
    found: dict[str, Endpoint] = {}

    async def probe(provider: Provider) -> None:
        async with open_client(
            connect=PROBE_TIMEOUT, read=PROBE_TIMEOUT, transport=transport
        ) as client:
            try:
                answer = await client.get(f"{provider.base_url}/models")
                models = _Models.model_validate_json(answer.content).data
            except (HttpError, ValidationError):
                return
            if models:
                found[provider.name] = Endpoint(provider.name, models[0].id)

    async with anyio.create_task_group() as tasks:
        for provider in PROVIDERS.values():
            if provider.local:
                tasks.start_soon(probe, provider)
    return tuple(found[name] for name in PROVIDERS if name in found)
