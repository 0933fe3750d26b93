"""Build an agent's models from its settings: adapter, address, key and wrappers."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from thinker.http.broker_link import broker_link
from thinker.http.exchange import Network
from thinker.models.anthropic import AnthropicMessages
from thinker.models.base import Model
from thinker.models.breaker import Breaker, CircuitBreakerModel
from thinker.models.demo import DemoModel
from thinker.models.endpoint import LOCAL_TIMEOUTS, STANDARD_TIMEOUTS
from thinker.models.openai_chat import OpenAIChat
from thinker.models.retry import Fallback, Retrying
from thinker.models.structured import StructuredOutput
from thinker.models.tooltext import with_tools
from thinker.models.vision import VisionFilter, sees
from thinker.protocol import model_endpoints
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.providers import PROVIDERS, Provider
from thinker.worker_errors import WorkerConfigError

if TYPE_CHECKING:
    from thinker.models.embeddings import EmbeddingModel


def choose(
    settings: ThinkerSettings, environ: Mapping[str, str], *, transport: Network | None = None
) -> Model:
    """Build an agent's model: retries around each attempt, fallbacks behind it.

    Models of one provider share its circuit breaker. With a single provider there is no breaker,
    since no other provider could answer. ``environ`` holds the providers' keys; ``transport``
    replaces the network, which is the broker if the process has one.

    Raises:
        WorkerConfigError: a provider is unknown or not fully configured.
    """
    references = [(settings.llm_provider, settings.model)]
    references += [model_endpoints.reference(settings, entry) for entry in settings.fallback_models]
    breakers: defaultdict[str, Breaker] = defaultdict(Breaker)
    alone = len({provider for provider, _ in references}) == 1
    models = []
    for provider, name in references:
        plain = _model(settings, environ, provider, name, transport)
        model = VisionFilter(plain, sees=sees(name, settings.vision))
        models.append(Retrying(model if alone else CircuitBreakerModel(model, breakers[provider])))
    return Fallback(models)


def choose_small(settings: ThinkerSettings, environ: Mapping[str, str], own: Model) -> Model:
    """Build the model for summaries and facts: the small one, falling back to ``own``."""
    if not settings.small_model:
        return own
    reference = model_endpoints.reference(settings, settings.small_model)
    return Fallback([Retrying(_model(settings, environ, *reference)), own])


def choose_embeddings(
    settings: ThinkerSettings, environ: Mapping[str, str]
) -> "EmbeddingModel | None":
    """Build the embeddings model; None if the agent has none.

    Raises:
        WorkerConfigError: its provider is unknown, has no embeddings or is not fully configured.
    """
    if not settings.embeddings_model:
        return None
    # Most agents have none; importing the module here keeps their processes small.
    from thinker.models.embeddings import EmbeddingModel  # noqa: PLC0415 - see above

    agent = f"agents.json: agent {settings.agent_id!r}"
    own_url = settings.embeddings_base_url
    provider = model_endpoints.embeddings_provider(settings)
    if provider is None:
        name = settings.embeddings_provider
        raise WorkerConfigError(
            f"{agent} cannot have embeddings of {name!r}; use openai, openrouter, ollama, "
            "lmstudio or a baseUrl"
        )
    url = _address(agent, own_url) if own_url else provider.base_url
    key = _key(settings, provider, environ, needed=not own_url)
    model, dimensions = settings.embeddings_model, settings.embeddings_dimensions
    transport = _broker(settings)
    return EmbeddingModel(provider, model, dimensions, url, key, transport)


def _model(
    settings: ThinkerSettings,
    environ: Mapping[str, str],
    provider_name: str,
    model: str,
    transport: Network | None = None,
) -> Model:
    agent = f"agents.json: agent {settings.agent_id!r}"
    provider = PROVIDERS.get(provider_name)
    if provider is None:
        known = ", ".join(sorted(PROVIDERS))
        raise WorkerConfigError(
            f"{agent} has the unknown llmProvider {provider_name!r}; use one of {known}"
        )
    if not model:
        raise WorkerConfigError(f'{agent} has no model for {provider_name}; set "model"')
    if provider.wire == "demo":
        return DemoModel(model)
    own_url = settings.base_url if provider_name == settings.llm_provider else ""
    url = _address(agent, own_url) if own_url else provider.base_url
    key = _key(settings, provider, environ, needed=not own_url)
    transport = transport or _broker(settings)
    timeouts = LOCAL_TIMEOUTS if provider.local else STANDARD_TIMEOUTS
    adapter = AnthropicMessages if provider.wire == "anthropic" else OpenAIChat
    if own_url:  # its server may refuse fields that only the provider's own knows
        provider = replace(provider, cache_key=False)
    found = adapter(provider, model, url, key, transport, timeouts)
    beside_tools = provider.output_beside_tools and not own_url
    structured = StructuredOutput(found, settings.structured_output, beside_tools=beside_tools)
    return with_tools(structured, settings.tool_calls)


def _broker(settings: ThinkerSettings) -> Network | None:
    return None if settings.broker_fd is None else broker_link(settings.broker_fd)


def _address(agent: str, url: str) -> str:
    try:
        return model_endpoints.checked_url(url)
    except ValueError as error:
        raise WorkerConfigError(
            f"{agent} has the baseUrl {url!r}; write it like http://127.0.0.1:8000/v1"
        ) from error


def _key(
    settings: ThinkerSettings, provider: Provider, environ: Mapping[str, str], *, needed: bool
) -> str:
    """Return the key to send; empty also if the broker has it."""
    agent, variable = f"agents.json: agent {settings.agent_id!r}", provider.key_var
    if variable is None or variable in settings.keys:
        return ""
    key = environ.get(variable, "").strip()
    if not model_endpoints.KEY.fullmatch(key) or variable in settings.invalid_keys:
        raise WorkerConfigError(f"{agent}: {variable} is not a valid key; set it again")
    if not key and needed:
        raise WorkerConfigError(f"{agent} uses {provider.name} without a key; set {variable}")
    return key
