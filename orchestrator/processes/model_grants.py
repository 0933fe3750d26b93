"""Decide what the broker may do for an agent, and what its worker is told.

Where: does a model key go to the broker, not to the worker?
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from orchestrator.broker.broker_wire import CountsFormat, Grant
from thinker.protocol import model_endpoints
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.model_endpoints import UsedEndpoint
from thinker.protocol.providers import Provider


@dataclass(frozen=True)
class ModelRights:
    """What an agent's worker may ask of models: by its settings, with ``keys`` by variable.

    The grants are made for each worker that starts: ten thousand agents would hold 80 MB of them.
    """

    settings: ThinkerSettings
    keys: Mapping[str, str] = field(repr=False)

    @property
    def are_needed(self) -> bool:
        """Whether the worker asks any model over the network."""
        return any(True for _ in model_endpoints.list_used_endpoints(self.settings))

    def build_grants(self) -> tuple[Grant, ...]:
        return build_grants(self.settings, self.keys)


def build_rights(settings: ThinkerSettings, keys: Mapping[str, str]) -> ModelRights:
    """Return the rights of a worker with the settings that it is to have, and its keys in them."""
    used = (one.provider for one in model_endpoints.list_used_endpoints(settings))
    variables = {p.key_var: _find_key(p, keys) for p in used if p.key_var}
    return ModelRights(_add_key_names(settings, variables), variables)


def build_grants(settings: ThinkerSettings, keys: Mapping[str, str]) -> tuple[Grant, ...]:
    """Return the addresses that an agent may post to; ``keys`` holds its keys by variable.

    Without a valid key nothing is added: the worker does not start if one is needed.
    """
    models = [
        _build_grant(used, key if model_endpoints.KEY.fullmatch(key) else "", settings.agent_id)
        for used in model_endpoints.list_used_endpoints(settings)
        for key in (_find_key(used.provider, keys),)
    ]
    headers = {grant.provider: grant for grant in models}
    probes = (
        headers[provider.name].model_copy(
            update={"url": probe.url, "method": probe.method, "probe": True}
        )
        for provider, probe in model_endpoints.list_used_probes(settings)
    )
    return (*models, *probes)


def _add_key_names(settings: ThinkerSettings, keys: Mapping[str, str]) -> ThinkerSettings:
    """Return the worker's settings, with the names of keys in place of keys."""
    valid = {name: bool(model_endpoints.KEY.fullmatch(key)) for name, key in keys.items() if key}
    return settings.model_copy(
        update={
            "keys": tuple(name for name, fine in valid.items() if fine),
            "invalid_keys": tuple(name for name, fine in valid.items() if not fine),
        }
    )


def _build_grant(used: UsedEndpoint, key: str, agent_id: str) -> Grant:
    provider, use = used.provider, used.use
    header = provider.requests.cache_header  # sends an agent to the server that has its prompt
    routed = {header: sha256(agent_id.encode()).hexdigest()[:32]} if header else {}
    of_text: CountsFormat = "anthropic" if provider.wire == "anthropic" else "openai"
    return Grant(
        url=used.url,
        headers=model_endpoints.build_headers(provider, key) | routed,
        secrets=(key,) if key else (),
        provider=provider.name,
        counts=of_text if use in ("chat", "embeddings") else "stated",
        form=use == "hear",
        pictures=use == "draw",
        connect=provider.timeouts.get("connect"),
    )


def _find_key(provider: Provider, keys: Mapping[str, str]) -> str:
    return keys.get(provider.key_var, "").strip() if provider.key_var else ""
