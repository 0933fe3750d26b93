"""What the broker may do for an agent, and what the agent's worker knows of it."""

from collections.abc import Mapping

from orchestrator.broker.broker_wire import CountsFormat, Grant
from thinker.protocol import model_endpoints
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.model_endpoints import UsedEndpoint
from thinker.protocol.providers import Provider


def grants(settings: ThinkerSettings, keys: Mapping[str, str]) -> tuple[Grant, ...]:
    """Return the addresses that an agent may post to; ``keys`` holds them by variable.

    Without a valid key nothing is added: the worker does not start if one is needed.
    """
    return tuple(
        _grant(used, key if model_endpoints.KEY.fullmatch(key) else "")
        for used in model_endpoints.used(settings)
        for key in (_key(used.provider, keys),)
    )


def told(settings: ThinkerSettings, keys: Mapping[str, str]) -> ThinkerSettings:
    """Return the settings as the worker reads them: the names of keys."""
    providers = [used.provider for used in model_endpoints.used(settings)]
    variables = {p.key_var: _key(p, keys) for p in providers if p.key_var}
    valid = {
        name: bool(model_endpoints.KEY.fullmatch(key)) for name, key in variables.items() if key
    }
    return settings.model_copy(
        update={
            "keys": tuple(name for name, fine in valid.items() if fine),
            "invalid_keys": tuple(name for name, fine in valid.items() if not fine),
        }
    )


def _grant(used: UsedEndpoint, key: str) -> Grant:
    provider, use = used.provider, used.use
    of_text: CountsFormat = "anthropic" if provider.wire == "anthropic" else "openai"
    return Grant(
        url=used.url,
        headers=model_endpoints.headers(provider, key),
        secrets=(key,) if key else (),
        provider=provider.name,
        counts=of_text if use in ("chat", "embeddings") else "stated",
        form=use == "hear",
        pictures=use == "draw",
    )


def _key(provider: Provider, keys: Mapping[str, str]) -> str:
    return keys.get(provider.key_var, "").strip() if provider.key_var else ""
