"""Where an agent's models are asked, and with which header: the same for supervisor and worker."""

import re
from collections.abc import Iterator
from functools import lru_cache

from pydantic import HttpUrl, TypeAdapter

from thinker.protocol.env import ThinkerSettings
from thinker.protocol.providers import CUSTOM, PROVIDERS, Provider

URL = TypeAdapter(HttpUrl)
KEY = re.compile(r"[!-~]*")  # what an HTTP header can carry, minus blanks
ANTHROPIC_VERSION = "2023-06-01"  # 2026-10-21 rejects every temperature
PLAIN = Provider(CUSTOM, "openai")  # a server that only has an address


@lru_cache(maxsize=64)
def checked_url(url: str) -> str:
    """Return a base URL in its usual form; raise `ValueError` if it is not one."""
    return str(URL.validate_python(url))


def base_url(settings: ThinkerSettings, provider: Provider) -> str:
    """Return the base URL of an agent's models of a provider; raise as `checked_url`."""
    own = settings.base_url if provider.name == settings.llm_provider else ""
    return checked_url(own) if own else provider.base_url


def chat_url(provider: Provider, base_url: str) -> str:
    base = base_url.rstrip("/")
    if provider.wire == "anthropic":
        return f"{base.removesuffix('/v1')}/v1/messages"
    return f"{base}/chat/completions"


def embeddings_url(base_url: str) -> str:
    return f"{base_url.rstrip('/')}/embeddings"


def headers(provider: Provider, key: str) -> dict[str, str]:
    """Return the headers that a provider wants; an empty key needs none."""
    if provider.wire == "anthropic":
        found = {"anthropic-version": ANTHROPIC_VERSION}
        return {**found, "x-api-key": key} if key else found
    return {"authorization": f"Bearer {key}"} if key else {}


def reference(settings: ThinkerSettings, entry: str) -> tuple[str, str]:
    """Split ``provider/model``; without a known provider, the agent's own and the whole text."""
    provider, slash, model = entry.partition("/")
    if slash and provider in PROVIDERS:
        return provider, model
    return settings.llm_provider, entry


def embeddings_provider(settings: ThinkerSettings) -> Provider | None:
    """Return the provider of an agent's embeddings; None if it has none that can be asked."""
    if not settings.embeddings_model:
        return None
    name = settings.embeddings_provider
    provider = PROVIDERS.get(name) if name else PLAIN
    usable = provider is not None and provider.wire == "openai"
    return provider if usable and (name or settings.embeddings_base_url) else None


def used(settings: ThinkerSettings) -> Iterator[tuple[Provider, str]]:
    """Yield each provider that an agent may ask over HTTP, with the address of the request.

    What cannot be asked is left out: the worker says so when it starts.
    """
    entries = (*settings.fallback_models, *filter(None, (settings.small_model,)))
    names = (settings.llm_provider, *(reference(settings, entry)[0] for entry in entries))
    for name in dict.fromkeys(names):
        provider = PROVIDERS.get(name)
        if provider is not None and provider.wire != "demo":
            try:
                yield provider, chat_url(provider, base_url(settings, provider))
            except ValueError:
                continue
    embeds = embeddings_provider(settings)
    if embeds is not None:
        own = settings.embeddings_base_url
        try:
            yield embeds, embeddings_url(checked_url(own) if own else embeds.base_url)
        except ValueError:
            return
