"""The wire between supervisor and tool host.

Supervisor to tool host: ``servers/set``, ``tools/call`` (requests). Tool host to supervisor:
``ready``, ``heartbeat`` as every child of ours, and ``server/state`` (notifications).
"""

from typing import Literal, TypeAlias

from pydantic import Field

from thinker.protocol.messages import Frozen, Image, JsonObject

SERVERS_SET = "servers/set"  # ServersSet → Accepted
TOOLS_CALL = "tools/call"  # ToolRequest → ToolAnswer
SERVER_STATE = "server/state"  # notification ServerState

FD_VARIABLE = "ORCHESTRATOR_TOOLHOST_FD"
LOG_VARIABLE = "ORCHESTRATOR_LOG_LEVEL"
HEARTBEAT = 5.0  # seconds between two beats

ENV = "orchestrator/env"  # in the _meta of a call: the variables of a prompt's tool entry

# How a call ends without an answer; codes of error answers.
NOT_SENT = -32010  # the server certainly never saw it
LOST = -32011  # the server may have run it, or not

State: TypeAlias = Literal["starting", "connected", "failed"]


class ServerSpec(Frozen):
    """One MCP server: ``command`` (stdio) or ``url`` (streamable HTTP)."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: str = ""
    headers: dict[str, str] = Field(default_factory=dict)


class ServersSet(Frozen):
    """The servers to hold from now on: others are ended, changed ones are started anew."""

    servers: tuple[ServerSpec, ...]


class RequestAccepted(Frozen):
    """It was taken note of; what becomes of it comes as notifications."""


class ServerTool(Frozen):
    """A tool as its server lists it; ``parameters`` is its JSON Schema, unchanged.

    ``digest`` is the SHA-256 of all that it says of the tool.
    """

    name: str
    description: str
    parameters: JsonObject
    read_only: bool = False
    idempotent: bool = False
    digest: str = ""


class ServerState(Frozen):
    """A server's state now. ``error`` says why it is not connected; it is tried again."""

    name: str
    state: State
    tools: tuple[ServerTool, ...] = ()
    error: str = ""


class ToolRequest(Frozen):
    """Call a tool; ``timeout`` in seconds, connecting included. ``env`` goes along as `ENV`."""

    server: str
    tool: str
    arguments: JsonObject
    timeout: float
    env: dict[str, str] = Field(default_factory=dict)


class ToolAnswer(Frozen):
    """What the tool answered: text for the model, and pictures."""

    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()
