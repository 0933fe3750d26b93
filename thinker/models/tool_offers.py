"""Offer tools to a model natively, as text, or as text once it has refused them.

The text protocol itself is an extension.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

import structlog

from thinker.extension import describe_missing_extension, list_extensions
from thinker.models.base import Model, ModelRequest, ModelResponse, ModelWrapper
from thinker.models.failures import ToolsRefusedError, format_headline
from thinker.protocol.degradations import WORDS, Degradation
from thinker.worker_errors import WorkerConfigError

ToolCalls = Literal["native", "text", "text-full", "auto"]
log = structlog.get_logger()


def wrap_tool_calls(model: Model, mode: ToolCalls) -> Model:
    """Return the model with tools offered in this mode; ``auto`` is native until refused.

    Raises:
        WorkerConfigError: the text protocol is not installed.
    """
    if mode == "native":
        return model
    if mode == "auto":
        return AutoTools(model)
    found = offer_tools_as_text(model, full=mode == "text-full")
    if found is None:
        loss = "so tools cannot be offered as text"
        raise WorkerConfigError(describe_missing_extension("text_tool_calls", loss))
    return found


def offer_tools_as_text(model: Model, *, full: bool = False) -> Model | None:
    """Return the model with its tools offered as text; None without the text protocol."""
    offers = (one.offer_tools_as_text(model, full=full) for one in list_extensions())
    return next((found for found in offers if found is not None), None)


@dataclass(eq=False)
class AutoTools(ModelWrapper):
    """A model that is offered tools natively, and as text once it has refused them."""

    _text: Model | None = field(default=None, init=False)
    _lost: Degradation | None = field(default=None, init=False)

    async def complete(self, request: ModelRequest) -> ModelResponse:
        if self._text is None:
            try:
                return await self.model.complete(request)
            except ToolsRefusedError as error:
                self._text = offer_tools_as_text(self.model)
                if self._text is None:
                    raise
                log.warning("tool_calls_as_text", model=self.name, why=format_headline(error))
                words = str(error).partition(": ")[2][:WORDS]
                self._lost = Degradation(
                    kind="tools", subject=self.name, what="offered as text", words=words
                )
        response = await self._text.complete(request)
        if self._lost is None or not request.tools:
            return response
        return replace(response, degraded=(*response.degraded, self._lost))
