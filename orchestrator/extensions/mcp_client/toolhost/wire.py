"""The wire between supervisor and tool host.

Supervisor to tool host: ``servers/set``, ``tools/call`` and, as to every child process, ``ping``
(requests). Tool host to supervisor: ``ready`` and ``server/state`` (notifications).
"""

from typing import Literal, TypeAlias

from pydantic import Field

from thinker.protocol.messages import FileContent, Frozen, Image, JsonObject
from thinker.protocol.sandbox import SandboxReport

SERVERS_SET = "servers/set"  # ServersSet → RequestAccepted
TOOLS_CALL = "tools/call"  # ToolRequest → ToolAnswer
CALL_CANCEL = "call/cancel"  # notification CallCancel
SERVER_STATE = "server/state"  # notification ServerState

FD_VARIABLE = "ORCHESTRATOR_TOOLHOST_FD"
LOG_VARIABLE = "ORCHESTRATOR_LOG_LEVEL"
# The daemon's home and configuration, which the jails hide, and how jails are made.
HOME_VARIABLE = "ORCHESTRATOR_HOME"
CONFIG_VARIABLE = "ORCHESTRATOR_CONFIG"
SANDBOX_VARIABLE = "ORCHESTRATOR_SANDBOX"

ENV = "orchestrator/env"  # in the _meta of a call: the variables of a prompt's tool entry

# Error codes of calls that end without an answer.
NOT_SENT = -32010  # the server did not get the call
LOST = -32011  # the server may have run the tool, or not

State: TypeAlias = Literal["starting", "connected", "failed"]


class ServerJail(Frozen):
    """The openings of a server's jail, see `orchestrator.agentsfile.ServerSandbox`."""

    read: tuple[str, ...] | None = None
    write: tuple[str, ...] | None = None
    network: bool | tuple[str, ...] = True
    sockets: bool = False
    namespaces: bool = False


class ServerSpec(Frozen):
    """One MCP server: ``command`` (stdio) or ``url`` (streamable HTTP, or ``type`` "sse").

    A ``bundled`` one is a part of this program that jails what it runs.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: str = ""
    type: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    sandbox: ServerJail | Literal["off"] = ServerJail()
    bundled: bool = False


class ServersSet(Frozen):
    """The servers to run from now on: others are stopped, changed ones are restarted."""

    servers: tuple[ServerSpec, ...]


class RequestAccepted(Frozen):
    """The request was accepted; notifications report its effects."""


class ServerTool(Frozen):
    """A tool as its server lists it; ``parameters`` is its JSON Schema, unchanged.

    ``digest`` is the SHA-256 of the whole definition.
    """

    name: str
    description: str
    parameters: JsonObject
    read_only: bool = False
    idempotent: bool = False
    digest: str = ""


class ServerState(Frozen):
    """A server's state. ``error`` says why the server is not connected; that is retried later.

    ``sandbox`` is the jail of its last process; a server at an address has none. ``notes`` say what
    is odd in its list, such as the tools that are left out.
    """

    name: str
    state: State
    tools: tuple[ServerTool, ...] = ()
    error: str = ""
    notes: tuple[str, ...] = ()
    sandbox: SandboxReport | None = None


class ToolRequest(Frozen):
    """A call of a tool; ``timeout`` in seconds, with connecting. ``env`` is sent as `ENV`.

    ``key`` identifies the call while it runs.
    """

    server: str
    tool: str
    arguments: JsonObject
    timeout: float
    key: str = ""
    env: dict[str, str] = Field(default_factory=dict)


class CallCancel(Frozen):
    """The key of a call to end; its answer is no longer needed."""

    key: str


class ToolAnswer(Frozen):
    """A tool's answer: text for the model, images, and other files."""

    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()
    files: tuple[FileContent, ...] = ()
