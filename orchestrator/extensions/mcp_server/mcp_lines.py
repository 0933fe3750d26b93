"""The lines between `orchestrator mcp` and the daemon's control socket."""

from collections.abc import Callable

from pydantic import Field, JsonValue

from orchestrator.control.camel_model import CamelModel
from thinker.protocol.peer import Params, RequestHandler

MCP_LINE = "mcp/line"  # McpLine → Ack, when the line is done with; before that MCP_OUT
SESSION = "mcp-session-id"  # a header of requests by HTTP
MCP_OUT = "mcp/out"  # notification McpOutput


def make_lazy_handler(make: Callable[[], RequestHandler]) -> dict[str, RequestHandler]:
    """Return a connection's method that makes its handler on the first line."""
    made: list[RequestHandler] = []

    async def take_line(params: JsonValue) -> Params:
        if not made:
            made.append(make())
        return await made[0](params)

    return {MCP_LINE: take_line}


class McpLine(CamelModel):
    """A line of an MCP client; ``session`` is the same for all of the client's lines."""

    session: str = Field(min_length=16, max_length=64)
    line: str


class McpOutput(CamelModel):
    """A message, or several, for an MCP client."""

    message: JsonValue
