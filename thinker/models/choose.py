"""Build an agent's models from its settings: adapter, address, key and wrappers."""

from collections import defaultdict
from collections.abc import Mapping
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
from thinker.models.served_place import ServedPlace
from thinker.models.structured import StructuredOutput
from thinker.models.tooltext import with_tools
from thinker.models.vision import VisionFilter, sees
from thinker.protocol import model_endpoints
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.model_endpoints import ServedUse
from thinker.protocol.providers import Provider, at_address
from thinker.protocol.served_models import ServedModel
from thinker.worker_errors import WorkerConfigError

if TYPE_CHECKING:
    from thinker.models.embeddings import EmbeddingModel
    from thinker.models.media_models import MediaModels


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
        shown = "images" in _provider(settings, provider).can or settings.vision == "on"
        model = VisionFilter(plain, sees=shown and sees(name, settings.vision))
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

    model = model_endpoints.served(settings)["embeddings"]
    place = _place(settings, environ, "embeddings", model)
    dimensions = settings.embeddings_dimensions
    return EmbeddingModel(
        place.provider,
        settings.embeddings_model,
        dimensions,
        place.base_url,
        place.key,
        place.network,
    )


def choose_media(settings: ThinkerSettings, environ: Mapping[str, str]) -> "MediaModels | None":
    """Build the models of sound and pictures; None if the agent has none.

    One that cannot be asked keeps no agent from answering: each request for it says why.
    """
    hear, speak, draw = settings.hear, settings.speak, settings.draw
    if not (hear or speak or draw):
        return None
    # As above.
    from thinker.models.media_models import (  # noqa: PLC0415
        DrawingEndpoint,
        HearingEndpoint,
        MediaModels,
        SpeakingEndpoint,
    )

    def place(use: ServedUse, model: ServedModel) -> ServedPlace:
        try:
            return _place(settings, environ, use, model)
        except WorkerConfigError as error:
            problem = str(error).removeprefix("agents.json: ").replace(": ", ", ")
            return ServedPlace(model_endpoints.PLAIN, "", "", problem=problem)

    return MediaModels(
        HearingEndpoint(hear, place("hear", hear)) if hear else None,
        SpeakingEndpoint(speak, place("speak", speak)) if speak else None,
        DrawingEndpoint(draw, place("draw", draw)) if draw else None,
    )


def _place(
    settings: ThinkerSettings, environ: Mapping[str, str], use: ServedUse, model: ServedModel
) -> ServedPlace:
    """Return where a model beside the agent's own is asked."""
    agent, provider = (
        f"agents.json: agent {settings.agent_id!r}",
        model_endpoints.serving(settings, use, model),
    )
    if provider is None:
        able = ", ".join(model_endpoints.able(settings, use))
        what = model_endpoints.ABILITIES[use]
        raise WorkerConfigError(
            f"{agent} cannot have {what} of {model.provider!r}; use a baseUrl or one of {able}"
        )
    url = _address(agent, model.base_url) if model.base_url else provider.base_url
    key = _key(settings, provider, environ, needed=not model.base_url)
    return ServedPlace(provider, url, key, _broker(settings))


def choose_alone(settings: ThinkerSettings, environ: Mapping[str, str]) -> Model:
    """Build an agent's first model without retries and fallbacks; raise as `choose`."""
    return _model(settings, environ, settings.llm_provider, settings.model)


def _model(
    settings: ThinkerSettings,
    environ: Mapping[str, str],
    provider_name: str,
    model: str,
    transport: Network | None = None,
) -> Model:
    agent = f"agents.json: agent {settings.agent_id!r}"
    provider = _provider(settings, provider_name)
    if not model:
        raise WorkerConfigError(f'{agent} has no model for {provider_name}; set "model"')
    if provider.wire == "demo":
        return DemoModel(model)
    own_url = settings.base_url if provider_name == settings.llm_provider else ""
    url = _address(agent, own_url) if own_url else provider.base_url
    if not url:
        raise WorkerConfigError(f'{agent} uses {provider_name} without an address; set "baseUrl"')
    key = _key(settings, provider, environ, needed=not own_url or not provider.base_url)
    transport = transport or _broker(settings)
    timeouts = LOCAL_TIMEOUTS if provider.local else STANDARD_TIMEOUTS
    adapter = AnthropicMessages if provider.wire == "anthropic" else OpenAIChat
    if own_url:
        provider = at_address(provider, own_url)
    found = adapter(provider, model, url, key, transport, timeouts)
    beside_tools = provider.requests.output_beside_tools
    plain = settings.structured_output == "auto" and not {"schema", "json"} & {*provider.can}
    output = "text" if plain else settings.structured_output
    structured = StructuredOutput(found, output, beside_tools=beside_tools)
    as_text = settings.tool_calls == "auto" and "tools" not in provider.can
    return with_tools(structured, "text" if as_text else settings.tool_calls)


def _provider(settings: ThinkerSettings, name: str) -> Provider:
    known = model_endpoints.known_to(settings)
    if name in known:
        return known[name]
    raise WorkerConfigError(
        f"agents.json: agent {settings.agent_id!r} has the unknown llmProvider {name!r}; use one of"
        f" {', '.join(sorted(known))}"
    )


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
