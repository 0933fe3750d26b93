"""What `orchestrator mcp` and the daemon say over the control socket."""

from collections.abc import Callable

from pydantic import Field, JsonValue

from orchestrator.control.camel_model import CamelModel
from thinker.protocol.peer import Params, RequestHandler

MCP_LINE = "mcp/line"  # McpLine → Ack, when the line is done with; before that MCP_OUT
MCP_OUT = "mcp/out"  # notification McpOutput


def from_first_line(make: Callable[[], RequestHandler]) -> dict[str, RequestHandler]:
    """Return the method of a connection that makes its handler with the first line it gets."""
    made: list[RequestHandler] = []

    async def take(params: JsonValue) -> Params:
        if not made:
            made.append(make())
        return await made[0](params)

    return {MCP_LINE: take}


class McpLine(CamelModel):
    """A line of an MCP client; ``session`` is the same for all that the client sends."""

    session: str = Field(min_length=16, max_length=64)
    line: str


class McpOutput(CamelModel):
    """A message, or several, for an MCP client."""

    message: JsonValue
