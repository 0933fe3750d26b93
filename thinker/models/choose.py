"""Build an agent's models from its settings: adapter, address, key and wrappers.

Where: is the model for a call chosen, with its fallbacks?
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from thinker.extension import describe_missing_extension, list_extensions
from thinker.http.broker_link import open_broker_link
from thinker.http.exchange import Network
from thinker.models.base import Model
from thinker.models.breaker import Breaker, CircuitBreakerModel
from thinker.models.call_limits import choose_timeouts
from thinker.models.demo import DemoModel
from thinker.models.fitting import FittingModel
from thinker.models.openai_chat import OpenAIChat
from thinker.models.retry import FallbackModel, RetryingModel
from thinker.models.served_endpoint import ServedModelEndpoint
from thinker.models.vision import VisionFilter, can_see_images
from thinker.models.wrappers import fit_requests, wrap_adapter
from thinker.protocol import model_endpoints
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.model_endpoints import ServedUse
from thinker.protocol.providers import Provider, relocate_provider
from thinker.protocol.served_models import ServedModel
from thinker.worker_errors import WorkerConfigError

if TYPE_CHECKING:
    from thinker.models.embeddings import EmbeddingModel


def choose_model(
    settings: ThinkerSettings, environ: Mapping[str, str], *, transport: Network | None = None
) -> Model:
    """Build an agent's model, with retries of each model and with fallbacks.

    Models of one provider share its circuit breaker. With a single provider there is no breaker,
    since no other provider could answer. ``environ`` holds the providers' keys; ``transport``
    replaces the network, which is the broker if the process has one.

    Raises:
        WorkerConfigError: a provider is unknown or not fully configured.
    """
    references = [(settings.llm_provider, settings.model)]
    references += [
        model_endpoints.split_model_reference(settings, entry) for entry in settings.fallback_models
    ]
    breakers: defaultdict[str, Breaker] = defaultdict(Breaker)
    alone = len({provider for provider, _ in references}) == 1
    models = []
    for provider, name in references:
        plain = _build_model(settings, environ, provider, name, transport)
        shown = "images" in _require_provider(settings, provider).can or settings.vision == "on"
        model = VisionFilter(plain, sees=shown and can_see_images(name, settings.vision))
        retrying = RetryingModel(model if alone else CircuitBreakerModel(model, breakers[provider]))
        models.append(_fit_requests(settings, environ, provider, name, retrying, transport))
    for at, fitting in enumerate(models):
        fitting.later = tuple(models[at + 1 :])
    return FallbackModel(models)


def choose_small_model(settings: ThinkerSettings, environ: Mapping[str, str], own: Model) -> Model:
    """Build the model for summaries and facts: the small one, falling back to ``own``."""
    if not settings.small_model:
        return own
    reference = model_endpoints.split_model_reference(settings, settings.small_model)
    retrying = RetryingModel(_build_model(settings, environ, *reference))
    return FallbackModel([_fit_requests(settings, environ, *reference, retrying), own])


def choose_embeddings(
    settings: ThinkerSettings, environ: Mapping[str, str]
) -> "EmbeddingModel | None":
    """Build the embeddings model; return None if the agent has none.

    Raises:
        WorkerConfigError: the provider is unknown, has no embeddings or is not fully configured.
    """
    if not settings.embeddings_model:
        return None
    # Most agents have none; importing the module here keeps their processes small.
    from thinker.models.embeddings import EmbeddingModel  # noqa: PLC0415 - see above

    model = model_endpoints.list_served_models(settings)["embeddings"]
    place = find_served_endpoint(settings, environ, "embeddings", model)
    dimensions = settings.embeddings_dimensions
    return EmbeddingModel(
        place.provider,
        settings.embeddings_model,
        dimensions,
        place.base_url,
        place.key,
        place.network,
    )


def find_served_endpoint(
    settings: ThinkerSettings,
    environ: Mapping[str, str],
    use: ServedUse,
    model: ServedModel,
) -> ServedModelEndpoint:
    """Return the endpoint of an additional model.

    Raises:
        WorkerConfigError: the model cannot be called with these settings.
    """
    agent, provider = (
        f"agents.json: agent {settings.agent_id!r}",
        model_endpoints.find_serving_provider(settings, use, model),
    )
    if provider is None:
        able = ", ".join(model_endpoints.list_able_providers(settings, use))
        what = model_endpoints.ABILITIES[use]
        raise WorkerConfigError(
            f"{agent} cannot have {what} of {model.provider!r}; use a baseUrl or one of {able}"
        )
    url = _normalize_base_url(agent, model.base_url) if model.base_url else provider.base_url
    key = _require_key(settings, provider, environ, needed=not model.base_url)
    return ServedModelEndpoint(provider, url, key, _find_broker(settings))


def _fit_requests(
    settings: ThinkerSettings,
    environ: Mapping[str, str],
    provider_name: str,
    model: str,
    inner: Model,
    transport: Network | None = None,
) -> FittingModel:
    """Return a model whose requests are fitted into its window."""
    provider = _require_provider(settings, provider_name)
    key = _require_key(settings, provider, environ, needed=False)
    network = transport or _find_broker(settings)
    return fit_requests(inner, settings, provider, model, key, network)


def choose_single_model(settings: ThinkerSettings, environ: Mapping[str, str]) -> Model:
    """Build an agent's first model without retries and fallbacks; raises like `choose_model`."""
    return _build_model(settings, environ, settings.llm_provider, settings.model)


def _build_model(
    settings: ThinkerSettings,
    environ: Mapping[str, str],
    provider_name: str,
    model: str,
    transport: Network | None = None,
) -> Model:
    agent = f"agents.json: agent {settings.agent_id!r}"
    provider = _require_provider(settings, provider_name)
    if not model:
        raise WorkerConfigError(f'{agent} has no model for {provider_name}; set "model"')
    if provider.wire == "demo":
        return DemoModel(model)
    own_url = settings.base_url if provider_name == settings.llm_provider else ""
    url = _normalize_base_url(agent, own_url) if own_url else provider.base_url
    if not url:
        raise WorkerConfigError(f'{agent} uses {provider_name} without an address; set "baseUrl"')
    key = _require_key(settings, provider, environ, needed=not own_url or not provider.base_url)
    transport = transport or _find_broker(settings)
    timeouts = choose_timeouts(provider, url)
    if own_url:
        provider = relocate_provider(provider, own_url)
    found = _find_adapter(provider)(provider, model, url, key, transport, timeouts)
    return wrap_adapter(found, settings, provider, url)


def _find_adapter(provider: Provider) -> Callable[..., Model]:
    """Return the maker of a provider's models; raise `WorkerConfigError` if it is not installed."""
    if provider.wire == "openai":
        return OpenAIChat
    for extension in list_extensions():
        if provider.wire in extension.adapters:
            return extension.adapters[provider.wire]
    loss = f"so {provider.name} cannot be asked"
    raise WorkerConfigError(f"agents.json: {describe_missing_extension(provider.wire, loss)}")


def _require_provider(settings: ThinkerSettings, name: str) -> Provider:
    """Return the provider of this name; raise `WorkerConfigError` for an unknown name."""
    known = model_endpoints.list_known_providers(settings)
    if name in known:
        return known[name]
    raise WorkerConfigError(
        f"agents.json: agent {settings.agent_id!r} has the unknown llmProvider {name!r}; use one of"
        f" {', '.join(sorted(known))}"
    )


def _find_broker(settings: ThinkerSettings) -> Network | None:
    return None if settings.broker_fd is None else open_broker_link(settings.broker_fd)


def _normalize_base_url(agent: str, url: str) -> str:
    """Return a base URL in its usual form; raise `WorkerConfigError` for anything else."""
    try:
        return model_endpoints.normalize_url(url)
    except ValueError as error:
        raise WorkerConfigError(
            f"{agent} has the baseUrl {url!r}; write it like http://127.0.0.1:8000/v1"
        ) from error


def _require_key(
    settings: ThinkerSettings, provider: Provider, environ: Mapping[str, str], *, needed: bool
) -> str:
    """Return the key to send, which is empty if the broker has the key or none is needed."""
    agent, variable = f"agents.json: agent {settings.agent_id!r}", provider.key_var
    if variable is None or variable in settings.keys:
        return ""
    key = environ.get(variable, "").strip()
    if not model_endpoints.KEY.fullmatch(key) or variable in settings.invalid_keys:
        raise WorkerConfigError(f"{agent}: {variable} is not a valid key; set it again")
    if not key and needed:
        raise WorkerConfigError(f"{agent} uses {provider.name} without a key; set {variable}")
    return key
