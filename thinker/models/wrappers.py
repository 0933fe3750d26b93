"""What goes around a provider's adapter, by the settings of an agent."""

from collections.abc import Callable
from functools import partial

from thinker.http.exchange import Network
from thinker.models.base import Model
from thinker.models.call_limits import limit_answers
from thinker.models.fitting import FittingModel
from thinker.models.retry import FallbackModel
from thinker.models.structured import StructuredOutput
from thinker.models.tool_offers import wrap_tool_calls
from thinker.models.window_question import ask_window
from thinker.protocol import model_endpoints
from thinker.protocol.context_windows import ContextWindow
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.local_addresses import is_local_address
from thinker.protocol.providers import Provider


def wrap_adapter(found: Model, settings: ThinkerSettings, provider: Provider, url: str) -> Model:
    """Return the adapter with limited answers, and schemas and tools as its provider takes them."""
    found = limit_answers(found, settings.max_output_tokens, provider, url)
    beside_tools = provider.requests.output_beside_tools
    plain = settings.structured_output == "auto" and not {"schema", "json"} & {*provider.can}
    output = "text" if plain else settings.structured_output
    structured = StructuredOutput(found, output, beside_tools=beside_tools)
    as_text = settings.tool_calls == "auto" and "tools" not in provider.can
    return wrap_tool_calls(structured, "text" if as_text else settings.tool_calls)


def fit_requests(
    inner: Model,
    settings: ThinkerSettings,
    provider: Provider,
    model: str,
    key: str,
    network: Network | None,
) -> FittingModel:
    """Return a model whose requests are fitted into its window, which its server may tell."""
    own = (settings.llm_provider, settings.model) == (provider.name, model)
    stated = (own and settings.context_tokens) or provider.context_tokens
    known = dict(model_endpoints.split_known_window(entry) for entry in settings.known_windows)
    window = known.get(f"{provider.name}/{model}", 0)
    url = "" if provider.wire == "demo" else model_endpoints.find_base_url(settings, provider)
    local = is_local_address(url)
    fitting = FittingModel(inner, stated, window, local)
    probes = tuple(model_endpoints.list_probes_of_model(provider, url, model))
    if probes and (local or not window):
        headers = model_endpoints.build_headers(provider, key)
        fitting.ask = partial(ask_window, fitting.name, model, probes, headers, network)
    return fitting


def watch_window(model: Model, report: Callable[[ContextWindow], None]) -> None:
    """Call ``report`` with the window of an agent's own model when it becomes known."""
    first = model.models[0] if isinstance(model, FallbackModel) else model
    if isinstance(first, FittingModel):
        first.report = report
