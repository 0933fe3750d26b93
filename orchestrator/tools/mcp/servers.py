"""Run the tool host process, keep the tools of its MCP servers, and call them.

The tool host runs while agents.json names a server. It is restarted with back-off when it dies or
hangs, which affects only calls in flight. The tools that a server listed last are offered while it
starts or is away, also after a restart of the daemon: a call waits for the server.
"""

import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import chain
from types import MappingProxyType

import anyio
import structlog
from pydantic import JsonValue, ValidationError

from orchestrator import chat_texts
from orchestrator.agentsfile import McpServer
from orchestrator.agentsfile.agents_file import SandboxMode
from orchestrator.errors import ToolLostError, ToolUnavailableError
from orchestrator.hands.hand_servers import HandServer
from orchestrator.journal.turns.steps import Call
from orchestrator.loop_owned import LoopOwned
from orchestrator.processes import restarts
from orchestrator.processes.child_process import (
    ChildProcess,
    Spawn,
    execute,
    running_child,
)
from orchestrator.processes.jail_requirement import require
from orchestrator.processes.kept_child import KeptChild
from orchestrator.processes.restarts import ExitKind
from orchestrator.settings import Settings
from orchestrator.toolhost import wire
from orchestrator.tools.mcp.host_program import (
    away,
    host_program,
    server_spec,
    tool_failure,
    tool_result,
)
from orchestrator.tools.mcp.mcp_tools import McpTool, build_catalog, own_tools, owner
from orchestrator.tools.mcp.pins import ToolPins
from thinker.protocol.messages import JsonObject, SideEffect, ToolResult
from thinker.protocol.peer import PeerClosedError, RpcError

READY_WAIT = 30.0  # seconds after a change that turns wait for servers that never listed tools
START_WAIT = 75.0  # seconds that a call waits for a server that starts; the tool host gives it 60
RETRY_WAIT = 10.0  # seconds that a call waits for a server that has failed
PIN_RETRY = 5.0  # seconds until lists are compared with their pins again after a fault
GRACE = 15.0  # seconds beyond a call's own timeout: the tool host first waits for its server
REPEATABLE = (SideEffect.PURE, SideEffect.KEYED)
MAX_REPEATS = 2  # of a repeatable call whose answer was lost
SET_TIMEOUT = 10.0  # seconds
Tell = Callable[[str], None]  # is given what a call waits for, and an empty text afterwards
log = structlog.get_logger()


class McpServers(LoopOwned):
    """All MCP servers of agents.json, while `run` runs.

    ``reserved`` are the names of built-in tools. ``tools`` has every usable tool by its name for
    models, but those of single agents.
    """

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        reserved: Collection[str],
        pins: ToolPins,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = restarts.jitter,
        spawn: Spawn = execute,
    ) -> None:
        self._program = partial(host_program, settings, environ)
        self._reserved = reserved
        self.pins = pins
        self._clock = clock
        self._spawn = spawn
        self._servers: dict[str, McpServer] = {}  # shared ones and those of single agents
        self._shared: frozenset[str] = frozenset()
        self._hands: Mapping[str, HandServer] = {}
        self._own: Mapping[str, Mapping[str, McpTool]] = {}
        self._kept = KeptChild("the tool host", self, clock, jitter)
        self._changes = self._kept.changes
        self._states: dict[str, wire.ServerState] = {}
        self._problems: tuple[str, ...] = ()
        self.child: ChildProcess | None = None
        self._set_at = 0.0
        self._sandbox: SandboxMode = "auto"
        self._started: SandboxMode | None = None  # the sandbox of the running tool host
        self._outdated = False  # the tool host does not have the newest servers yet
        self.tools: Mapping[str, McpTool] = {}

    async def define(
        self,
        servers: Mapping[str, McpServer],
        hands: Mapping[str, HandServer] = MappingProxyType({}),
        sandbox: SandboxMode = "auto",
    ) -> None:
        """Set the servers of the configuration; those that did not change keep running.

        ``hands`` are the bundled servers of single agents. Another ``sandbox`` restarts all.
        """
        shared = {name: server for name, server in servers.items() if server.runs}
        new = {**shared, **{name: hand.server for name, hand in hands.items()}}
        old = self._servers
        known = await self.pins.remembered() if new != old else {}
        if sandbox != self._sandbox:
            self._sandbox = sandbox
            self._changes.wake()
        self._shared, self._hands = frozenset(shared), hands
        if new == old:
            return
        fresh = {n for n in new if n not in old or server_spec(n, new[n]) != server_spec(n, old[n])}
        started = {
            name: wire.ServerState(name=name, state="starting", tools=known.get(name, ()))
            for name in fresh
        }
        self._states = {name: started.get(name) or self._states[name] for name in new}
        self._servers = new
        pinned = {name for name in new if new[name].pin}
        self.pins.set_servers({name: self._states[name].tools for name in new}, pinned)
        self._kept.forgive()
        self._set_at = self._clock()
        self._outdated = True
        self._refresh()

    def states(self) -> tuple[wire.ServerState, ...]:
        """Return every server's state, in the order of agents.json."""
        return tuple(self._states.values())

    async def wait_ready(self) -> None:
        """Wait until the tools of each server are known, at most `READY_WAIT` after a change."""
        while any(map(self._is_pending, self._states.values())):
            left = max(0.0, self._set_at + READY_WAIT - self._clock())
            with anyio.move_on_after(left) as waiting:
                await self._changes.changed.wait()
            if waiting.cancelled_caught:
                return

    def _is_pending(self, state: wire.ServerState) -> bool:
        return not self.pins.compared(state.name) if state.tools else state.state == "starting"

    def tools_of(self, agent_id: str) -> dict[str, McpTool]:
        """Return the tools for an agent of agents.json; those of its own servers win."""
        return {**self.tools, **self._own.get(agent_id, {})}

    def answering_tools(self, agent_id: str) -> dict[str, McpTool]:
        """Return the agent's tools that can be called now, without waiting for their servers."""
        answering = {name for name, state in self._states.items() if self._ready(state)}
        tools = self.tools_of(agent_id)
        return {name: tool for name, tool in tools.items() if tool.server in answering}

    async def wait_for_tool(self, name: str, agent_id: str, tell: Tell) -> None:
        """Wait for the server of a tool that cannot be called now, as `call` does."""
        with suppress(ToolUnavailableError):
            await self._answering(self._owner(name, agent_id), tell)

    def ends_with_turn(self, tool: McpTool) -> bool:
        """Return whether a call ends when its turn is stopped: those of bundled servers do."""
        return tool.server in self._hands

    def _owner(self, name: str, agent_id: str) -> str:
        """Return the server that an agent's tool of this name would belong to."""
        own = (s for s, hand in self._hands.items() if hand.agent_id == agent_id)
        found = next((server for server in own if name in self._hands[server].tools), None)
        return found or owner(name, self._shared)

    def why_missing(self, name: str, agent_id: str) -> str:
        """Return the message for a model that calls a missing tool."""
        if name in self.pins.withheld():
            return chat_texts.TOOL_WITHHELD.format(tool=name)
        state = self._states.get(self._owner(name, agent_id))
        if state is not None and state.state != "connected":
            return away(state, START_WAIT)
        return f"there is no tool {name!r} any more; its MCP server was removed, or lists others"

    def recheck_pins(self) -> None:
        """Compare withheld tools with their pins again: the operator may have approved them."""
        self.pins.recheck()
        self._changes.wake()

    async def call(
        self, tool: McpTool, arguments: JsonObject, key: str, tell: Tell
    ) -> wire.ToolAnswer:
        """Call a tool once its server answers; ``key`` identifies the call, also when repeated.

        Raises:
            ToolUnavailableError: the tool did not run.
            ToolLostError: it is unknown whether the tool ran.
            StorageFailedError: another daemon has the journal; the tool did not run.
        """
        child = await self._answering(tool.server, tell)
        await self.pins.store.still_held()  # after the wait, and before each repetition
        if self._today(tool) is None:
            hand = self._hands.get(tool.server)
            agent_id = "" if hand is None else hand.agent_id
            raise ToolUnavailableError(self.why_missing(tool.spec.name, agent_id))
        request = wire.ToolRequest(
            server=tool.server,
            tool=tool.tool,
            arguments=tool.arguments(arguments, key),
            timeout=tool.timeout,
            env=dict(tool.env),
            key=key,
        )
        child.watch()
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

    async def _answering(self, server: str, tell: Tell) -> ChildProcess:
        """Return the tool host once a server is connected there and its tools are known.

        It waits for as long as a server may take to start; a server that fails is given a moment.

        Raises:
            ToolUnavailableError: the server did not come, or agents.json has no such server.
        """
        began, told = anyio.current_time(), False
        while True:
            state = self._states.get(server)
            if state is None:
                raise ToolUnavailableError(f"there is no server {server!r} any more")
            child = self._ready(state)
            if child is not None:
                if told:
                    tell("")
                return child
            limit = RETRY_WAIT if state.state == "failed" else START_WAIT
            left = began + limit - anyio.current_time()
            if left <= 0:
                raise ToolUnavailableError(away(state, START_WAIT))
            if not told:
                tell(chat_texts.TOOL_WAITS.format(server=server))
                log.info("mcp_call_waits", server=server, state=state.state)
            told = True
            with anyio.move_on_after(left):
                await self._changes.changed.wait()

    def _ready(self, state: wire.ServerState) -> ChildProcess | None:
        child = self.child
        if child is None or child.peer.closed.is_set() or state.state != "connected":
            return None
        return child if self.pins.compared(state.name) else None

    async def result(self, tool: McpTool, call: Call, tell: Tell) -> ToolResult | None:
        """Return the result of a call past T4; None if it is unknown whether the tool ran.

        A call whose side-effect class allows it is repeated up to `MAX_REPEATS` times.
        """
        lost, problem = False, ""
        for _ in range(1 + MAX_REPEATS):
            try:
                answer = await self.call(tool, call.arguments, call.idem_key, tell)
            except ToolUnavailableError as error:
                problem = str(error)
                break
            except ToolLostError as error:
                lost, problem = True, str(error)
                log.warning("mcp_call_lost", tool=call.name, seq=call.seq, problem=problem)
                if not self._repeatable(call, tool):
                    break
            else:
                return tool_result(call, tool, answer)
        if lost and call.side_effect is not SideEffect.PURE:
            return None
        return tool_failure(call, tool, problem)

    def _repeatable(self, call: Call, tool: McpTool) -> bool:
        """Return whether a call may run twice, by its class when it was planned and by today's."""
        today = (self._today(tool) or tool).spec.side_effect
        return call.side_effect in REPEATABLE and call.side_effect is today

    def _today(self, tool: McpTool) -> McpTool | None:
        """Return a tool as its server lists it now."""
        known = chain(self.tools.values(), *(own.values() for own in self._own.values()))
        same = (t for t in known if (t.server, t.tool) == (tool.server, tool.tool))
        return next(same, None)

    async def run(self) -> None:
        """Keep the tool host running and the lists of tools compared, until canceled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._compare_lists)
            tasks.start_soon(self._kept.run)

    async def _compare_lists(self) -> None:
        """Compare each new list with the pins; after a fault of the journal, try again."""
        while True:
            changed = self._changes.changed
            if await self.pins.compare_new():
                self._refresh()
                continue
            with anyio.move_on_after(PIN_RETRY if self.pins.unread else None):
                await changed.wait()

    @property
    def wanted(self) -> bool:
        """Whether there are servers to run, in jails as they run in now."""
        return bool(self._servers) and self._started in (None, self._sandbox)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[ChildProcess]:
        """Start a tool host, which has no servers yet."""
        self._started = self._sandbox
        program = self._program(self._sandbox)
        async with running_child(program, ChildProcess, self._spawn) as child:
            require(self._sandbox, child.sandbox)
            child.peer.notifications |= {wire.SERVER_STATE: self._on_server_state}
            self._outdated = True
            yield child

    async def attend(self, child: ChildProcess) -> None:
        """Send the tool host the servers that it does not have yet."""
        if self._outdated:
            self._outdated = False
            servers = tuple(
                server_spec(name, server, bundled=name in self._hands)
                for name, server in self._servers.items()
            )
            message, accepted = wire.ServersSet(servers=servers), wire.RequestAccepted
            await child.peer.call(wire.SERVERS_SET, message, accepted, timeout=SET_TIMEOUT)
            self.child = child
            self._changes.wake()

    def ended(self, kind: ExitKind, reason: str) -> None:
        """Note that no server answers for now."""
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
        tools = state.tools if state.state == "connected" else known.tools
        self._states[state.name] = state.model_copy(update={"tools": tools})
        if state.state == "connected":
            self.pins.set_tools(state.name, tools)
        self._refresh()

    def _refresh(self) -> None:
        listed = {name: self.pins.usable(name) for name in self._states}
        shared = {name: self._servers[name] for name in self._servers if name in self._shared}
        self.tools, problems = build_catalog(listed, shared, self._reserved)
        self._own = own_tools(listed, self._hands)
        for problem in set(problems) - set(self._problems):
            log.warning("mcp_tool_left_out", problem=problem)
        self._problems = problems
        self._changes.wake()
