"""Give workers the adapter of the Messages API."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from orchestrator.extensions.anthropic.worker.anthropic_messages import AnthropicMessages
from thinker.extension import WorkerExtension
from thinker.models.base import Model


class AnthropicWorker(WorkerExtension):
    """Makes models of the wire ``anthropic``."""

    adapters: Mapping[str, Callable[..., Model]] = MappingProxyType(
        {"anthropic": AnthropicMessages}
    )
