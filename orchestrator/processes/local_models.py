"""Find model servers on this machine, for ``"llmProvider": "auto"``."""

from collections.abc import Iterable
from contextlib import closing
from urllib.parse import urlsplit

import anyio
from pydantic import BaseModel, ValidationError

from orchestrator.processes.launch import Endpoint
from thinker.http.exchange import HttpError
from thinker.protocol.providers import PROVIDERS, Provider

MAX_LIST = 4 * 1024 * 1024  # bytes
PROBE_TIMEOUT = 0.5  # seconds; a local server answers immediately or is not there


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    data: list[_Model]


async def find_local_servers(
    providers: Iterable[Provider] = PROVIDERS.values(), seconds: float = PROBE_TIMEOUT
) -> tuple[Endpoint, ...]:
    """Return the local servers that have a model, in the order of ``providers``.

    One that does not answer in so many ``seconds`` is left out.
    """
    local = [provider for provider in providers if provider.local]
    found: dict[str, Endpoint] = {}

    async def probe_provider(provider: Provider) -> None:
        if await _is_listening(provider.base_url, seconds) and (
            model := await _fetch_first_model(provider.base_url, seconds)
        ):
            found[provider.name] = Endpoint(provider.name, model)

    async with anyio.create_task_group() as tasks:
        for provider in local:
            tasks.start_soon(probe_provider, provider)
    return tuple(found[provider.name] for provider in local if provider.name in found)


async def _is_listening(url: str, seconds: float) -> bool:
    parts = urlsplit(url)
    try:
        with anyio.fail_after(seconds):
            stream = await anyio.connect_tcp(parts.hostname or "", parts.port or 80)
    except OSError:
        return False
    await stream.aclose()
    return True


async def _fetch_first_model(url: str, seconds: float) -> str:
    """Return the first model that a server lists; empty if it has none."""
    # Loading the HTTP client and certificates takes a fifth of the start, mostly unneeded.
    from thinker.http.web_client import WebClient  # noqa: PLC0415 - see above

    with closing(WebClient(connect=seconds, read=seconds)) as client:
        try:
            answer = await client.send("GET", f"{url}/models")
            models = _Models.model_validate_json(await answer.read(MAX_LIST)).data
        except (HttpError, ValidationError):
            return ""
    return models[0].id if models else ""
