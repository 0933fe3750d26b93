"""Send the schema of an answer to the provider, where that works.

The prompt describes the schema in any case, and `thinker.answers` checks every answer: sending the
schema only makes the first answer more likely to match.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

import orjson
import structlog

from thinker.models.base import ModelRequest, ModelResponse, ModelWrapper
from thinker.models.failures import OutputRefusedError, format_headline
from thinker.protocol.messages import JsonObject

StructuredMode = Literal["native", "text", "auto"]
MAX_REFUSED = 4  # schemas; after this many refusals no schema is sent
log = structlog.get_logger()


@dataclass(eq=False)
class StructuredOutput(ModelWrapper):
    """A model that receives the schema of its answer.

    ``native`` always sends it, and a refusal is an error; ``text`` never does. ``auto`` stops
    sending a schema that the model refused, and leaves it out of requests with tools unless
    ``beside_tools``: many servers enforce the schema so strictly that the model cannot call a tool.
    """

    mode: StructuredMode
    beside_tools: bool
    _refused: set[bytes] = field(default_factory=set, init=False)

    async def complete(self, request: ModelRequest) -> ModelResponse:
        if request.output is None:
            return await self.model.complete(request)
        plain = replace(request, output=None)
        if not self._can_send_schema(request, request.output):
            return await self.model.complete(plain)
        try:
            return await self.model.complete(request)
        except OutputRefusedError as error:
            if self.mode == "native":
                raise
            log.warning("output_schema_refused", model=self.name, why=format_headline(error))
        response = await self.model.complete(plain)
        self._refused.add(_build_schema_key(request.output))
        return response

    def _can_send_schema(self, request: ModelRequest, schema: JsonObject) -> bool:
        if self.mode != "auto":
            return self.mode == "native"
        may_call = request.tools and request.tool_choice.mode != "none"
        if may_call and not self.beside_tools:
            return False
        return len(self._refused) < MAX_REFUSED and _build_schema_key(schema) not in self._refused


def _build_schema_key(schema: JsonObject) -> bytes:
    return orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
