"""The addresses and headers of an agent's models, the same for supervisor and worker."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import HttpUrl, TypeAdapter

from thinker.protocol.background import LOCAL_CALL_SECONDS, MODEL_CALL_SECONDS
from thinker.protocol.context_windows import WindowProbe, list_window_probes
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.local_addresses import is_local_address
from thinker.protocol.providers import CUSTOM, PROVIDERS, Ability, Provider, split_reference
from thinker.protocol.served_models import ServedModel

URL = TypeAdapter(HttpUrl)
KEY = re.compile(r"[!-~]*")  # what an HTTP header can carry, minus blanks
ANTHROPIC_VERSION = "2023-06-01"  # 2026-10-21 rejects every temperature
PLAIN = Provider(CUSTOM)  # a server that only has an address
Use: TypeAlias = Literal["chat", "embeddings", "hear", "speak", "draw"]
ServedUse: TypeAlias = Literal["embeddings", "hear", "speak", "draw"]
PATHS: dict[Use, str] = {
    "chat": "/chat/completions",
    "embeddings": "/embeddings",
    "hear": "/audio/transcriptions",
    "speak": "/audio/speech",
    "draw": "/images/generations",
}
ABILITIES: dict[ServedUse, Ability] = {
    "embeddings": "embeddings",
    "hear": "transcription",
    "speak": "speech",
    "draw": "drawing",
}


class UsedEndpoint(NamedTuple):
    """An HTTP endpoint that an agent may call, and its use."""

    provider: Provider
    url: str
    use: Use


@lru_cache(maxsize=64)
def normalize_url(url: str) -> str:
    """Return a base URL in its normal form; raise `ValueError` if ``url`` is not an HTTP URL."""
    return str(URL.validate_python(url))


def list_known_providers(settings: ThinkerSettings) -> Mapping[str, Provider]:
    """Return the providers that an agent can name: the built-in and the configured ones."""
    if not settings.providers:
        return PROVIDERS
    return {**PROVIDERS, **{provider.name: provider for provider in settings.providers}}


def find_base_url(settings: ThinkerSettings, provider: Provider) -> str:
    """Return the base URL of an agent's models of a provider; raises like `normalize_url`."""
    own = settings.base_url if provider.name == settings.llm_provider else ""
    return normalize_url(own) if own else provider.base_url


def build_chat_url(provider: Provider, base_url: str, model: str) -> str:
    if provider.wire == "anthropic":
        base = base_url.rstrip("/")
        return f"{base.removesuffix('/v1')}/v1/messages"
    return build_use_url("chat", provider, base_url, model)


def build_use_url(use: Use, provider: Provider, base_url: str, model: str) -> str:
    """Return the URL of the OpenAI endpoint for ``use``."""
    return build_api_url(provider, base_url, PATHS[use], model)


def build_api_url(provider: Provider, base_url: str, path: str, model: str) -> str:
    """Return the URL of one of a provider's functions.

    For a provider with deployments, the path of the model's deployment is added unless the base has
    one. The query of the base is kept.
    """
    parts = urlsplit(base_url)
    start, query = parts.path.rstrip("/"), parts.query
    if provider.deployments and "/openai" not in start:
        start += f"/openai/deployments/{quote(model, safe='')}"
    versioned = "api-version" in query or start.endswith("/v1")
    if provider.api_version and not versioned:
        query = "&".join(filter(None, (query, f"api-version={provider.api_version}")))
    return urlunsplit((parts.scheme, parts.netloc, start + path, query, ""))


def build_headers(provider: Provider, key: str) -> dict[str, str]:
    """Return the headers that a provider requires; without a key, no authorization."""
    found = {"anthropic-version": ANTHROPIC_VERSION} if provider.wire == "anthropic" else {}
    if not key:
        return found
    if provider.key_header:
        return {**found, provider.key_header: key}
    return {**found, "authorization": f"Bearer {key}"}


def split_model_reference(settings: ThinkerSettings, entry: str) -> tuple[str, str]:
    """Split ``provider/model`` as `split_reference` does."""
    return split_reference(entry, settings.llm_provider, list_known_providers(settings))


def list_able_providers(settings: ThinkerSettings, use: ServedUse) -> list[str]:
    """Return the names of the providers that an agent can use for ``use``."""
    known = list_known_providers(settings).values()
    return sorted(p.name for p in known if ABILITIES[use] in p.can and p.wire == "openai")


def find_serving_provider(
    settings: ThinkerSettings, use: ServedUse, model: ServedModel
) -> Provider | None:
    """Return the provider of an additional model, or None if the model cannot be called."""
    if not model.provider:
        return PLAIN if model.base_url else None
    provider = list_known_providers(settings).get(model.provider)
    if provider is None or provider.name not in list_able_providers(settings, use):
        return None
    return provider if provider.base_url or model.base_url else None


def list_served_models(settings: ThinkerSettings) -> dict[ServedUse, ServedModel]:
    """Return the agent's additional models with OpenAI's API, keyed by use."""
    embeddings = ServedModel(
        model=settings.embeddings_model,
        provider=settings.embeddings_provider,
        base_url=settings.embeddings_base_url,
    )
    every: dict[ServedUse, ServedModel | None] = {
        "embeddings": embeddings if embeddings.model else None,
        "hear": settings.hear,
        "speak": settings.speak,
        "draw": settings.draw,
    }
    return {use: model for use, model in every.items() if model is not None}


def find_call_seconds(settings: ThinkerSettings) -> float:
    """Return the limit for the model call of one request outside turns."""
    used = list_used_endpoints(settings)
    local = any(is_local_address(end.url) for end in used if end.use == "chat")
    return LOCAL_CALL_SECONDS if local else MODEL_CALL_SECONDS


def list_used_endpoints(settings: ThinkerSettings) -> Iterator[UsedEndpoint]:
    """Yield the HTTP endpoints that an agent may call.

    Unusable models are skipped; the worker logs them at start.
    """
    found = dict[str, Provider]()
    for provider, base, model in _list_chat_models(settings):
        found.setdefault(build_chat_url(provider, base, model), provider)
    yield from (UsedEndpoint(provider, url, "chat") for url, provider in found.items())
    for use, served in list_served_models(settings).items():
        serving = find_serving_provider(settings, use, served)
        if serving is not None:
            try:
                base = normalize_url(served.base_url) if served.base_url else serving.base_url
            except ValueError:
                continue
            yield UsedEndpoint(serving, build_use_url(use, serving, base, served.model), use)


def list_used_probes(settings: ThinkerSettings) -> Iterator[tuple[Provider, WindowProbe]]:
    """Yield where the servers of an agent's models may tell windows that no table has."""
    known = dict(map(split_known_window, settings.known_windows))
    found = dict[str, tuple[Provider, WindowProbe]]()
    for provider, base, model in _list_chat_models(settings):
        if f"{provider.name}/{model}" not in known or is_local_address(base):
            for probe in list_probes_of_model(provider, base, model):
                found.setdefault(probe.url, (provider, probe))
    return iter(found.values())


def list_probes_of_model(provider: Provider, base: str, model: str) -> Iterator[WindowProbe]:
    """Yield where the server of a model may tell its window."""
    if base and provider.wire == "openai" and not provider.deployments:
        yield from list_window_probes(base, model, local=is_local_address(base))


def split_known_window(entry: str) -> tuple[str, int]:
    """Return the model and the tokens of an entry of `ThinkerSettings.known_windows`."""
    model, _, tokens = entry.rpartition("=")
    return model, int(tokens)


def _list_chat_models(settings: ThinkerSettings) -> Iterator[tuple[Provider, str, str]]:
    """Yield the providers of an agent's chat models with their base URLs and models."""
    entries = (*settings.fallback_models, *filter(None, (settings.small_model,)))
    models = (
        (settings.llm_provider, settings.model),
        *(split_model_reference(settings, e) for e in entries),
    )
    known = list_known_providers(settings)
    for name, model in models:
        provider = known.get(name)
        if provider is not None and provider.wire != "demo":
            with suppress(ValueError):
                if base := find_base_url(settings, provider):
                    yield provider, base, model
