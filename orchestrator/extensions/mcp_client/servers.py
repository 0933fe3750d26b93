"""Run the tool host process, keep the tools of its MCP servers, and call them.

The tool host runs while agents.json names a server. It is restarted with back-off when it dies or
hangs, which affects only calls in flight. The tools that a server listed last are offered while it
starts or is away, also after a restart of the daemon: a call waits for the server.
"""

import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import chain, filterfalse
from types import MappingProxyType

import anyio
import structlog
from pydantic import JsonValue, ValidationError

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition, McpServer
from orchestrator.agentsfile.agents_file import SandboxMode
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.mcp_client.host_program import (
    build_host_program,
    build_server_failure,
    build_server_result,
    build_server_spec,
    describe_absence,
    describe_missing_server,
    is_listed,
)
from orchestrator.extensions.mcp_client.mcp_tools import (
    build_arguments,
    build_catalog,
    build_own_tools,
    explain_smuggled_text,
    uses_server,
)
from orchestrator.extensions.mcp_client.pins import ToolPins
from orchestrator.extensions.mcp_client.toolhost import wire
from orchestrator.journal.turns.steps import Call
from orchestrator.loop_bound import LoopBound
from orchestrator.processes import restarts
from orchestrator.processes.child_process import (
    ChildProcess,
    Spawn,
    execute_program,
    run_child,
)
from orchestrator.processes.jail_requirement import require_jail
from orchestrator.processes.kept_child import KeptChild
from orchestrator.processes.restarts import ExitKind
from orchestrator.settings import Settings
from orchestrator.tools.remote_tools import RemoteTool, Tell, find_owner
from orchestrator.tools.tool_server import ToolServer
from thinker.protocol.degradations import Degradation
from thinker.protocol.messages import JsonObject, SideEffect, ToolResult
from thinker.protocol.peer import PeerClosedError, RpcError

READY_WAIT = 30.0  # seconds after it was added that turns wait for a server's first list
START_WAIT = 75.0  # seconds that a call waits for a server that starts; the tool host gives it 60
RETRY_WAIT = 10.0  # seconds that a call waits for a server that has failed
PIN_RETRY = 5.0  # seconds until lists are compared with their pins again after a fault
GRACE = 15.0  # seconds beyond a call's own timeout: the tool host first waits for its server
REPEATABLE = (SideEffect.PURE, SideEffect.KEYED)
MAX_REPEATS = 2  # of a repeatable call whose answer was lost
SET_TIMEOUT = 10.0  # seconds
log = structlog.get_logger()


class ToolUnavailableError(OrchestratorError):
    """A tool call never reached its server."""


class ToolLostError(OrchestratorError):
    """A tool call was sent but not answered; it may have run."""


class McpServers(LoopBound):
    """All MCP servers of agents.json, while `run` runs.

    ``tools`` has every usable tool, keyed by its name for models, except those of single agents.
    ``has_servers`` tells whether there are servers. ``new_tools`` are the names of those that came
    later than their servers.
    """

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        pins: ToolPins,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = restarts.draw_jitter,
        spawn: Spawn = execute_program,
    ) -> None:
        self._program = partial(build_host_program, settings, environ)
        self._reserved: Collection[str] = ()
        self.pins = pins
        self._clock = clock
        self._spawn = spawn
        self._servers: dict[str, McpServer] = {}  # shared ones and those of single agents
        self._shared: frozenset[str] = frozenset()
        self._agent_servers: Mapping[str, ToolServer] = {}
        self._own: Mapping[str, Mapping[str, RemoteTool]] = {}
        self._kept = KeptChild("the tool host", self, clock, jitter)
        self._changes = self._kept.changes
        self._states: dict[str, wire.ServerState] = {}
        self._problems: tuple[str, ...] = ()
        self.child: ChildProcess | None = None
        self._wait_ends: dict[str, float] = {}  # when turns stop waiting for servers
        self._sandbox: SandboxMode = "auto"
        self._started: SandboxMode | None = None  # the sandbox of the running tool host
        self._outdated = False  # the tool host does not have the newest servers yet
        self.tools: Mapping[str, RemoteTool] = {}
        self.has_servers = False
        self.new_tools: frozenset[str] = frozenset()

    async def define_servers(
        self,
        servers: Mapping[str, McpServer],
        agent_servers: Mapping[str, ToolServer] = MappingProxyType({}),
        sandbox: SandboxMode = "auto",
        reserved: Collection[str] = (),
    ) -> None:
        """Set the servers of the configuration; unchanged ones keep running.

        ``agent_servers`` are servers of single agents. Another ``sandbox`` restarts all.
        ``reserved`` are names of tools of the supervisor, which no other tool can have.
        """
        shared = {name: server for name, server in servers.items() if server.is_enabled}
        new = {**shared, **{name: own.server for name, own in agent_servers.items()}}
        old = self._servers
        known = await self.pins.load_remembered_tools() if new != old else {}
        if sandbox != self._sandbox:
            self._sandbox = sandbox
            self._changes.wake()
        self._shared, self._agent_servers = frozenset(shared), agent_servers
        renamed, self._reserved = reserved != self._reserved, reserved
        if new == old:
            if renamed:
                self._refresh_tools()
            return
        fresh = {
            n
            for n in new
            if n not in old or build_server_spec(n, new[n]) != build_server_spec(n, old[n])
        }
        started = {
            name: wire.ServerState(name=name, state="starting", tools=known.get(name, ()))
            for name in fresh
        }
        self._states = {name: started.get(name) or self._states[name] for name in new}
        self._servers, self.has_servers = new, bool(new)
        pinned = {name for name in new if new[name].pin}
        self.pins.set_servers({name: self._states[name].tools for name in new}, pinned, shared)
        self._kept.forgive_failures()
        end = self._clock() + READY_WAIT
        self._wait_ends = {name: end if name in fresh else self._wait_ends[name] for name in new}
        self._outdated = True
        self._refresh_tools()

    def list_states(self) -> tuple[wire.ServerState, ...]:
        """Return every server's state, in the order of agents.json."""
        return tuple(
            state.model_copy(update={"notes": (*state.notes, *self._list_problems(state.name))})
            for state in self._states.values()
        )

    def _list_problems(self, server: str) -> Iterator[str]:
        return (problem for problem in self._problems if f"MCP server {server!r}" in problem)

    async def wait_until_ready(self, agent: AgentDefinition) -> tuple[Degradation, ...]:
        """Wait until the tools of each server that the agent uses were listed once.

        Return the servers that still have no list `READY_WAIT` seconds after they were added.
        """
        while unlisted := [one for one in self._states.values() if self._is_unlisted(one, agent)]:
            end = max(self._wait_ends[state.name] for state in unlisted)
            with anyio.move_on_after(end - self._clock()) as waiting:
                await self._changes.changed.wait()
            if waiting.cancelled_caught:
                return tuple(map(describe_missing_server, filterfalse(is_listed, unlisted)))
        return ()

    def _is_unlisted(self, state: wire.ServerState, agent: AgentDefinition) -> bool:
        """Return whether a server of the agent has no tools that can be offered yet.

        One whose connection failed is tried again at once, so that it counts as starting.
        """
        if is_listed(state) and self.pins.is_compared(state.name):
            return False
        own = self._agent_servers.get(state.name)
        return (
            uses_server(agent, state.name) if own is None else own.agent_id == agent.configured_id
        )

    def list_agent_tools(self, agent_id: str) -> dict[str, RemoteTool]:
        """Return the tools for an agent of agents.json; those of its own servers win."""
        return {**self.tools, **self._own.get(agent_id, {})}

    def list_answering_tools(self, agent_id: str) -> dict[str, RemoteTool]:
        """Return the agent's tools that can be called now, without waiting for their servers."""
        answering = {name for name, state in self._states.items() if self._find_ready_child(state)}
        tools = self.list_agent_tools(agent_id)
        return {name: tool for name, tool in tools.items() if tool.server in answering}

    async def wait_for_tool(self, name: str, agent_id: str, tell: Tell) -> None:
        """Wait for the server of a tool that cannot be called now, as `call_server_tool` does."""
        with suppress(ToolUnavailableError):
            await self._wait_for_server(self._find_owner(name, agent_id), tell)

    def is_ended_with_turn(self, tool: RemoteTool) -> bool:
        """Return whether a call ends when its turn is stopped, as on an agent's own server."""
        return tool.server in self._agent_servers

    def find_command_tool(self, agent_id: str) -> str:
        """Return the name of the tool by which an agent runs commands, or an empty string."""
        own = self._agent_servers.values()
        names = (server.command_tool for server in own if server.agent_id == agent_id)
        return next(filter(None, names), "")

    def _find_owner(self, name: str, agent_id: str) -> str:
        """Return the server to which an agent's tool of this name would belong."""
        for server, own in self._agent_servers.items():
            if own.agent_id == agent_id and name in own.tools:
                return server
        known = self.tools.get(name)
        return find_owner(name, self._shared) if known is None else known.server

    def explain_missing_tool(self, name: str, agent_id: str) -> str:
        """Return the message for a model that calls a missing tool."""
        if name in self.pins.list_withheld_tools():
            return chat_texts.TOOL_WITHHELD.format(tool=name)
        state = self._states.get(self._find_owner(name, agent_id))
        if state is not None and state.state != "connected":
            return describe_absence(state, START_WAIT)
        return f"there is no tool {name!r} any more; its MCP server was removed, or lists others"

    def list_withheld_tools(self) -> dict[str, str]:
        return self.pins.list_withheld_tools()

    def recheck_pins(self) -> None:
        """Compare withheld tools with their pins again: the operator may have approved them."""
        self.pins.recheck_withheld()
        self._changes.wake()

    async def call_server_tool(
        self, tool: RemoteTool, arguments: JsonObject, key: str, tell: Tell
    ) -> wire.ToolAnswer:
        """Call a tool once its server answers; ``key`` identifies the call, also when repeated.

        Raises:
            ToolUnavailableError: the tool did not run.
            ToolLostError: the tool may or may not have run.
            StorageFailedError: another daemon has the journal; the tool did not run.
        """
        child = await self._wait_for_server(tool.server, tell)
        await self.pins.store.ensure_held()  # after the wait, and before each repetition
        if self._find_current_tool(tool) is None:
            own = self._agent_servers.get(tool.server)
            agent_id = "" if own is None else own.agent_id
            raise ToolUnavailableError(self.explain_missing_tool(tool.spec.name, agent_id))
        refused = explain_smuggled_text(tool, arguments, self._servers[tool.server])
        if refused:
            raise ToolUnavailableError(refused)
        request = wire.ToolRequest(
            server=tool.server,
            tool=tool.tool,
            arguments=build_arguments(tool, arguments, key),
            timeout=tool.timeout,
            env=dict(tool.env),
            key=key,
        )
        child.start_watching()
        try:
            return await child.peer.call(
                wire.TOOLS_CALL, request, wire.ToolAnswer, timeout=tool.timeout + GRACE
            )
        except anyio.get_cancelled_exc_class():
            child.peer.notify(wire.CALL_CANCEL, wire.CallCancel(key=key))
            raise
        except RpcError as error:
            if error.code == wire.NOT_SENT:
                raise ToolUnavailableError(str(error)) from error
            raise ToolLostError(str(error)) from error
        except (PeerClosedError, TimeoutError, ValidationError) as error:
            raise ToolLostError(f"the tool host did not answer ({error})") from error

    async def _wait_for_server(self, server: str, tell: Tell) -> ChildProcess:
        """Return the tool host once a server is connected there and its tools are known.

        A starting server gets as long as it may take to start, a failed one only a moment.

        Raises:
            ToolUnavailableError: the server did not connect, or agents.json has no such server.
        """
        began, told = anyio.current_time(), False
        while True:
            state = self._states.get(server)
            if state is None:
                raise ToolUnavailableError(f"the server {server!r} was removed")
            child = self._find_ready_child(state)
            if child is not None:
                if told:
                    tell("")
                return child
            limit = RETRY_WAIT if state.state == "failed" else START_WAIT
            left = began + limit - anyio.current_time()
            if left <= 0:
                raise ToolUnavailableError(describe_absence(state, START_WAIT))
            if not told:
                tell(chat_texts.TOOL_WAITS.format(server=server))
                log.info("mcp_call_waits", server=server, state=state.state)
            told = True
            with anyio.move_on_after(left):
                await self._changes.changed.wait()

    def _find_ready_child(self, state: wire.ServerState) -> ChildProcess | None:
        child = self.child
        if child is None or child.peer.closed.is_set() or state.state != "connected":
            return None
        return child if self.pins.is_compared(state.name) else None

    async def run_call(self, tool: RemoteTool, call: Call, tell: Tell) -> ToolResult | None:
        """Return the result of a call past T4; None if it is unknown whether the tool ran.

        A call whose side-effect class allows it is repeated up to `MAX_REPEATS` times.
        """
        lost, problem = False, ""
        for _ in range(1 + MAX_REPEATS):
            try:
                answer = await self.call_server_tool(tool, call.arguments, call.idem_key, tell)
            except ToolUnavailableError as error:
                problem = str(error)
                break
            except ToolLostError as error:
                lost, problem = True, str(error)
                log.warning("mcp_call_lost", tool=call.name, seq=call.seq, problem=problem)
                if not self._is_repeatable(call, tool):
                    break
            else:
                return build_server_result(call, tool, answer)
        if lost and call.side_effect is not SideEffect.PURE:
            return None
        return build_server_failure(call, tool, problem)

    def _is_repeatable(self, call: Call, tool: RemoteTool) -> bool:
        """Return whether a call may run twice, by the tool's class when it was planned and now."""
        today = (self._find_current_tool(tool) or tool).spec.side_effect
        return call.side_effect in REPEATABLE and call.side_effect is today

    def _find_current_tool(self, tool: RemoteTool) -> RemoteTool | None:
        """Return a tool as its server lists it now."""
        known = chain(self.tools.values(), *(own.values() for own in self._own.values()))
        same = (t for t in known if (t.server, t.tool) == (tool.server, tool.tool))
        return next(same, None)

    async def run(self) -> None:
        """Keep the tool host running and the lists of tools compared, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._compare_lists)
            tasks.start_soon(self._kept.run)

    async def _compare_lists(self) -> None:
        """Compare each new list with the pins; after a fault of the journal, try again."""
        while True:
            changed = self._changes.changed
            if await self.pins.compare_new_lists():
                self._refresh_tools()
                continue
            with anyio.move_on_after(PIN_RETRY if self.pins.has_unread_lists else None):
                await changed.wait()

    @property
    def is_needed(self) -> bool:
        """Whether there are servers to run, in the jails in which the tool host was started."""
        return bool(self._servers) and self._started in (None, self._sandbox)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[ChildProcess]:
        """Start a tool host, which has no servers yet."""
        self._started = self._sandbox
        program = self._program(self._sandbox)
        async with run_child(program, ChildProcess, self._spawn) as child:
            require_jail(self._sandbox, child.sandbox)
            child.peer.notifications |= {wire.SERVER_STATE: self._on_server_state}
            self._outdated = True
            yield child

    async def update_child(self, child: ChildProcess) -> None:
        """Send the tool host the servers that it does not have yet."""
        if self._outdated:
            self._outdated = False
            servers = tuple(
                build_server_spec(name, server, bundled=name in self._agent_servers)
                for name, server in self._servers.items()
            )
            message, accepted = wire.ServersSet(servers=servers), wire.RequestAccepted
            await child.peer.call(wire.SERVERS_SET, message, accepted, timeout=SET_TIMEOUT)
            self.child = child
            self._changes.wake()

    def on_child_ended(self, kind: ExitKind, reason: str) -> None:
        """Record that no server answers for now."""
        self.child = self._started = None
        log.log(kind.log_level, "tool_host_ended", kind=kind, reason=reason)
        if kind is not ExitKind.CLEAN:
            for name, state in self._states.items():
                self._states[name] = state.model_copy(update={"state": "failed", "error": reason})

    def _on_server_state(self, params: JsonValue) -> None:
        state = wire.ServerState.model_validate(params)
        known = self._states.get(state.name)
        if known is None:
            return
        for note in set(state.notes) - set(known.notes):
            log.warning("mcp_tool_left_out", problem=f"the tool server {state.name}: {note}")
        tools = state.tools if state.state == "connected" else known.tools
        self._states[state.name] = state.model_copy(update={"tools": tools})
        if state.state == "connected":
            self.pins.set_tools(state.name, tools)
        self._refresh_tools()

    def _refresh_tools(self) -> None:
        listed = {name: self.pins.list_usable_tools(name) for name in self._states}
        shared = {name: self._servers[name] for name in self._servers if name in self._shared}
        complete = self.pins.list_all_tools()
        self.tools, problems = build_catalog(listed, shared, self._reserved, complete)
        self._own = build_own_tools(listed, self._agent_servers)
        self.new_tools = self.pins.new_tools
        for problem in set(problems) - set(self._problems):
            log.warning("mcp_tool_left_out", problem=problem)
        self._problems = problems
        self._changes.wake()
