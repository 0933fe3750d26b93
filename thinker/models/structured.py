"""How a model is told the schema of its answer: by its provider's own means, or in words alone.

The words stand in the prompt either way, and every answer is checked (`thinker.answers`): what is
sent here only makes it likelier that the first one fits.
"""

from dataclasses import replace
from typing import Literal

import orjson
import structlog

from thinker.models.base import Model, ModelRequest, ModelResponse, ModelWrapper
from thinker.models.failures import OutputRefusedError, headline
from thinker.protocol.messages import JsonObject

Way = Literal["native", "text", "auto"]
MAX_REFUSED = 4  # schemas; a model that refused so many takes none
log = structlog.get_logger()


class StructuredOutput(ModelWrapper):
    """A model that is sent the schema of its answer where that does no harm.

    ``auto`` asks without the schema once the model has refused it, and sends none ``beside_tools``
    unless it is known to help: many servers hold a model to the schema so firmly that it can call
    no tool. ``native`` sends it always, and a refusal is an error; ``text`` never does.
    """

    def __init__(self, model: Model, way: Way, *, beside_tools: bool) -> None:
        super().__init__(model)
        self._way = way
        self._beside_tools = beside_tools
        self._refused: set[bytes] = set()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Ask the way that works; a refusal is logged, and remembered.

        Raises:
            ModelError: the failure of the model inside.
        """
        if request.output is None:
            return await self._model.complete(request)
        plain = replace(request, output=None)
        if not self._sends(request, request.output):
            return await self._model.complete(plain)
        try:
            return await self._model.complete(request)
        except OutputRefusedError as error:
            if self._way == "native":
                raise
            log.warning("output_schema_refused", model=self.name, why=headline(error))
        response = await self._model.complete(plain)
        self._refused.add(_key(request.output))
        return response

    def _sends(self, request: ModelRequest, schema: JsonObject) -> bool:
        if self._way != "auto":
            return self._way == "native"
        free = request.tools and request.tool_choice.mode != "none"
        if free and not self._beside_tools:
            return False
        return len(self._refused) < MAX_REFUSED and _key(schema) not in self._refused


def _key(schema: JsonObject) -> bytes:
    return orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
