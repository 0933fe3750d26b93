"""The core's view of tools that run in servers, which an extension keeps.

An agent's *remote tools* are those of the MCP servers that agents.json names, and of the servers
that extensions bring for single agents (`orchestrator.tools.tool_server`).
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from orchestrator.agentsfile import AgentDefinition, McpServer
from orchestrator.agentsfile.agents_file import SandboxMode
from orchestrator.journal.turns.steps import Call
from orchestrator.tools.tool_server import ToolServer
from thinker.protocol.degradations import Degradation
from thinker.protocol.messages import Origin, ToolResult, ToolSpec
from thinker.protocol.sandbox import SandboxReport

if TYPE_CHECKING:  # commands that read agents.json start no process
    from orchestrator.processes.child_process import ChildProcess

State: TypeAlias = Literal["starting", "connected", "failed"]
Tell = Callable[[str], None]  # is given what a call waits for, and an empty text afterwards


@dataclass(frozen=True)
class RemoteTool:
    """A tool of a server. ``timeout`` is in seconds.

    ``keyed`` tells whether the server recognizes a repeated call. ``env`` are variables sent with
    each call. ``origin`` is the origin of its results, ``reads`` whether they are private,
    ``carries`` whether a call can carry data out, and ``acts`` whether it changes something.
    ``arguments`` has the configured patterns of arguments that ``decide`` or are ``content``.
    The results of the tools ``directories`` are trusted directories; ``siblings`` are the tools of
    its server if the operator trusts that.
    """

    spec: ToolSpec
    server: str
    tool: str
    timeout: float
    keyed: bool
    env: Mapping[str, str] = field(default_factory=dict)
    origin: Origin = "tool"
    reads: bool = False
    carries: bool = True
    acts: bool = True
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    directories: frozenset[str] = frozenset()
    siblings: frozenset[str] = frozenset()


class KnownServer(Protocol):
    """What `orchestrator status` shows about a server."""

    @property
    def name(self) -> str:
        """The server's name in agents.json."""

    @property
    def state(self) -> str:
        """The server's state."""

    @property
    def error(self) -> str:
        """Why the server is not connected; empty if it is."""

    @property
    def notes(self) -> Sequence[str]:
        """What is odd in its list of tools, such as the tools that are left out."""


class RemoteServer(KnownServer, Protocol):
    """What is known of a server in the daemon."""

    @property
    def tools(self) -> Sized:
        """The tools of its last listing."""

    @property
    def sandbox(self) -> SandboxReport | None:
        """The jail of the server's process; None if it has none here."""


class RemoteTools(Protocol):
    """Keeps the servers of a configuration and runs the calls of their tools."""

    @property
    def child(self) -> "ChildProcess | None":
        """The process that holds the servers, while it runs."""

    @property
    def has_servers(self) -> bool:
        """Whether there is any server: without one, a turn need not ask for tools."""

    @property
    def new_tools(self) -> frozenset[str]:
        """The names of tools that came later than their servers; the same object until a change."""

    async def define_servers(
        self,
        servers: Mapping[str, McpServer],
        agent_servers: Mapping[str, ToolServer],
        sandbox: SandboxMode,
        reserved: Collection[str],
    ) -> None:
        """Set the servers of the configuration; those that did not change keep running.

        ``agent_servers`` are those of single agents. Another ``sandbox`` restarts all.
        ``reserved`` are names of tools of the supervisor, which no other tool can have.
        """

    def list_states(self) -> Sequence[RemoteServer]:
        """Return every server's state, in the order of agents.json."""

    def list_withheld_tools(self) -> Mapping[str, str]:
        """Return the tools that wait for an operator, ``server/tool``, keyed by name for models."""

    def recheck_pins(self) -> None:
        """Compare withheld tools with their pins again: the operator may have approved them."""

    async def wait_until_ready(self, agent: AgentDefinition) -> tuple[Degradation, ...]:
        """Wait for the first lists of the servers that an agent uses; return those that fail.

        The time is limited, and counts from when a server was added to the configuration.
        """

    def list_agent_tools(self, agent_id: str) -> Mapping[str, RemoteTool]:
        """Return the tools for an agent of agents.json, keyed by name."""

    def list_answering_tools(self, agent_id: str) -> Mapping[str, RemoteTool]:
        """Return the agent's tools that can be called now, without waiting for their servers."""

    def find_command_tool(self, agent_id: str) -> str:
        """Return the tool by which an agent runs commands; empty if it has none."""

    def explain_missing_tool(self, name: str, agent_id: str) -> str:
        """Return the message for a model that calls a missing tool."""

    async def wait_for_tool(self, name: str, agent_id: str, tell: Tell) -> None:
        """Wait for the server of a tool that cannot be called now, as `run_call` does."""

    def is_ended_with_turn(self, tool: RemoteTool) -> bool:
        """Return whether a call ends when its turn is stopped."""

    async def run_call(self, tool: RemoteTool, call: Call, tell: Tell) -> ToolResult | None:
        """Return the result of a call past T4; None if it is unknown whether the tool ran.

        A call whose side-effect class allows it may be repeated. It waits for its server.

        Raises:
            StorageFailedError: another daemon has the journal; the tool did not run.
        """


class NoRemoteTools:
    """Has no servers, where no extension keeps any."""

    child: "ChildProcess | None" = None
    has_servers = False
    new_tools: frozenset[str] = frozenset()

    async def define_servers(
        self,
        servers: Mapping[str, McpServer],
        agent_servers: Mapping[str, ToolServer],
        sandbox: SandboxMode,
        reserved: Collection[str],
    ) -> None:
        """Do nothing; the check of agents.json says which extension is missing."""

    def list_states(self) -> Sequence[RemoteServer]:
        return ()

    def list_withheld_tools(self) -> Mapping[str, str]:
        return {}

    def recheck_pins(self) -> None:
        """Do nothing: nothing is withheld."""

    async def wait_until_ready(self, agent: AgentDefinition) -> tuple[Degradation, ...]:
        del agent
        return ()

    def list_agent_tools(self, agent_id: str) -> Mapping[str, RemoteTool]:
        del agent_id
        return MappingProxyType({})

    list_answering_tools = list_agent_tools

    def find_command_tool(self, agent_id: str) -> str:
        del agent_id
        return ""

    def explain_missing_tool(self, name: str, agent_id: str) -> str:
        del agent_id
        return f"there is no tool {name!r} any more"

    async def wait_for_tool(self, name: str, agent_id: str, tell: Tell) -> None:
        """Return immediately: no server comes."""

    def is_ended_with_turn(self, tool: RemoteTool) -> bool:
        del tool
        return False

    async def run_call(self, tool: RemoteTool, call: Call, tell: Tell) -> ToolResult | None:
        """Return None: there is no tool to call."""


def find_owner(name: str, servers: Collection[str]) -> str:
    """Return the server with the longest matching prefix: ``git_hub`` wins over ``git``."""
    fitting = [server for server in servers if name.startswith(f"{replace_unsafe(server)}_")]
    return max(fitting, key=len, default="")


def replace_unsafe(text: str) -> str:
    """Return a name in characters that every provider accepts."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", text)
