"""What the broker may do for an agent, and what the agent's worker knows of it."""

from collections.abc import Mapping

from orchestrator.broker.broker_wire import Grant
from thinker.protocol import model_endpoints
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.providers import PROVIDERS, Provider

KEY_VARIABLES = frozenset(p.key_var for p in PROVIDERS.values() if p.key_var is not None)


def grants(settings: ThinkerSettings, keys: Mapping[str, str]) -> tuple[Grant, ...]:
    """Return the addresses that an agent may post to; ``keys`` holds them by variable.

    Without a valid key nothing is added: the worker does not start if one is needed.
    """
    return tuple(
        _grant(provider, url, key if model_endpoints.KEY.fullmatch(key) else "")
        for provider, url in model_endpoints.used(settings)
        for key in (_key(provider, keys),)
    )


def told(settings: ThinkerSettings, keys: Mapping[str, str]) -> ThinkerSettings:
    """Return the settings as the worker reads them: the names of keys."""
    variables = {p.key_var: _key(p, keys) for p, _ in model_endpoints.used(settings) if p.key_var}
    valid = {
        name: bool(model_endpoints.KEY.fullmatch(key)) for name, key in variables.items() if key
    }
    return settings.model_copy(
        update={
            "keys": tuple(name for name, fine in valid.items() if fine),
            "invalid_keys": tuple(name for name, fine in valid.items() if not fine),
        }
    )


def _grant(provider: Provider, url: str, key: str) -> Grant:
    return Grant(
        url=url,
        headers=model_endpoints.headers(provider, key),
        secrets=(key,) if key else (),
        provider=provider.name,
        counts="anthropic" if provider.wire == "anthropic" else "openai",
    )


def _key(provider: Provider, keys: Mapping[str, str]) -> str:
    return keys.get(provider.key_var, "").strip() if provider.key_var else ""
