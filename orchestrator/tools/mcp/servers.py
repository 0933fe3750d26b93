"""Run the tool host process, keep the tools of its MCP servers, and call them.

The tool host runs while agents.json names a server. It is restarted with back-off when it dies or
hangs, which affects only calls in flight. Tools of a server that is away stay offered: a call
waits a moment for the server to come back.
"""

import sys
import time
from collections.abc import Callable, Collection, Mapping

import anyio
import structlog
from pydantic import JsonValue, ValidationError

from orchestrator import chat_texts
from orchestrator.agentsfile import McpServer
from orchestrator.errors import ToolLostError, ToolUnavailableError, WorkerError
from orchestrator.journal.turns.steps import Call
from orchestrator.processes import restarts
from orchestrator.processes.child_process import ChildProcess, Program, running_child, wait_any
from orchestrator.processes.restarts import ExitKind, History
from orchestrator.settings import Settings
from orchestrator.toolhost import wire
from orchestrator.tools.mcp.mcp_tools import McpTool, build_catalog
from orchestrator.tools.mcp.pins import ToolPins
from orchestrator.wakeup import Wakeup
from thinker.protocol.env import inherited
from thinker.protocol.messages import JsonObject, SideEffect, ToolResult
from thinker.protocol.peer import PeerClosedError, RpcError

ARGV = (sys.executable, "-P", "-m", "orchestrator.toolhost")
READY_WAIT = 10.0  # seconds after a change that turns wait for the servers' first lists
HOST_WAIT = 10.0  # seconds that a call waits for the tool host
GRACE = 15.0  # seconds beyond a call's own timeout: the tool host first waits for its server
REPEATABLE = (SideEffect.PURE, SideEffect.KEYED)
MAX_REPEATS = 2  # of a repeatable call whose answer was lost
SET_TIMEOUT = 10.0  # seconds
SILENCE = 3 * wire.HEARTBEAT  # seconds after which the tool host counts as hung
log = structlog.get_logger()


class McpServers:
    """All MCP servers of agents.json, while `run` runs.

    ``reserved`` are the names of built-in tools. ``tools`` has every usable tool by its name for
    models.
    """

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        reserved: Collection[str],
        pins: ToolPins,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = restarts.jitter,
    ) -> None:
        env = {**inherited(environ), wire.LOG_VARIABLE: settings.log_level}
        self._program = Program("the tool host", ARGV, env, settings.home, wire.FD_VARIABLE)
        self._reserved = reserved
        self.pins = pins
        self._clock = clock
        self._jitter = jitter
        self._servers: dict[str, McpServer] = {}
        self._states: dict[str, wire.ServerState] = {}
        self._problems: tuple[str, ...] = ()
        self._child: ChildProcess | None = None
        self._history = History()
        self._changes = Wakeup()
        self._set_at = 0.0
        self._outdated = False  # the tool host does not have the newest servers yet
        self.tools: Mapping[str, McpTool] = {}

    def define(self, servers: Mapping[str, McpServer]) -> None:
        """Set the servers of the configuration; those that did not change keep running."""
        new = {name: server for name, server in servers.items() if server.type != "sse"}
        old = self._servers
        if new == old:
            return
        fresh = {n for n in new if n not in old or _spec(n, new[n]) != _spec(n, old[n])}
        started = {name: wire.ServerState(name=name, state="starting") for name in fresh}
        self._states = {name: started.get(name) or self._states[name] for name in new}
        self._servers = new
        self.pins.set_servers({n: self._states[n].tools for n in new if new[n].pin})
        self._history = restarts.forgiven(self._history)
        self._set_at = self._clock()
        self._outdated = True
        self._refresh()

    def states(self) -> tuple[wire.ServerState, ...]:
        """Return every server's state, in the order of agents.json."""
        return tuple(self._states.values())

    async def wait_ready(self) -> None:
        """Wait until each server has connected or failed, at most `READY_WAIT` after a change."""
        while any(map(self._is_pending, self._states.values())):
            left = max(0.0, self._set_at + READY_WAIT - self._clock())
            with anyio.move_on_after(left) as waiting:
                await self._changes.changed.wait()
            if waiting.cancelled_caught:
                return

    def _is_pending(self, state: wire.ServerState) -> bool:
        unread = state.state == "connected" and not self.pins.compared(state.name)
        return unread or state.state == "starting"

    def why_missing(self, name: str) -> str:
        """Return the message for a model that calls a missing tool."""
        if name in self.pins.withheld():
            return chat_texts.TOOL_WITHHELD.format(tool=name)
        return f"there is no tool {name!r} any more; its MCP server is away or was removed"

    def recheck_pins(self) -> None:
        """Compare withheld tools with their pins again: the operator may have approved them."""
        self.pins.recheck()
        self._changes.wake()

    async def call(self, tool: McpTool, arguments: JsonObject, key: str) -> wire.ToolAnswer:
        """Call a tool; ``key`` identifies the call, also when it is repeated.

        Raises:
            ToolUnavailableError: the tool did not run.
            ToolLostError: it is unknown whether the tool ran.
        """
        with anyio.move_on_after(HOST_WAIT):
            while (child := self._child) is None or child.peer.closed.is_set():
                await self._changes.changed.wait()
        if child is None or child.peer.closed.is_set():
            raise ToolUnavailableError(f"the tool host is away: {self._history.reason}")
        request = wire.ToolRequest(
            server=tool.server,
            tool=tool.tool,
            arguments=tool.arguments(arguments, key),
            timeout=tool.timeout,
            env=dict(tool.env),
        )
        try:
            return await child.peer.call(
                wire.TOOLS_CALL, request, wire.ToolAnswer, timeout=tool.timeout + GRACE
            )
        except RpcError as error:
            if error.code == wire.NOT_SENT:
                raise ToolUnavailableError(str(error)) from error
            raise ToolLostError(str(error)) from error
        except (PeerClosedError, TimeoutError, ValidationError) as error:
            raise ToolLostError(f"the tool host did not answer ({error})") from error

    async def result(self, tool: McpTool, call: Call) -> ToolResult | None:
        """Return the result of a call past T4; None if it is unknown whether the tool ran.

        A call whose side-effect class allows it is repeated up to `MAX_REPEATS` times.
        """
        repeat = call.side_effect in REPEATABLE and call.side_effect is tool.spec.side_effect
        lost, problem = False, ""
        for _ in range(1 + MAX_REPEATS if repeat else 1):
            try:
                answer = await self.call(tool, call.arguments, call.idem_key)
            except ToolUnavailableError as error:
                problem = str(error)
                break
            except ToolLostError as error:
                lost, problem = True, str(error)
                log.warning("mcp_call_lost", tool=call.name, seq=call.seq, problem=problem)
            else:
                return _result(call, answer)
        if lost and call.side_effect is not SideEffect.PURE:
            return None
        return _result(call, wire.ToolAnswer(content=f"the tool failed: {problem}", is_error=True))

    async def run(self) -> None:
        """Keep the tool host running while there are servers, until canceled."""
        while True:
            delay = restarts.wait(self._history, self._clock()) if self._servers else None
            if delay == 0.0:
                await self._run_worker()
                continue
            with anyio.move_on_after(delay):
                await self._changes.changed.wait()

    async def _run_worker(self) -> None:
        """Run one tool host process from start to end."""
        self._history = restarts.starting(self._history, self._clock())
        kind, reason = ExitKind.CLEAN, ""
        try:
            async with running_child(self._program, ChildProcess) as child:
                self._history = restarts.ready(self._history)
                child.peer.notifications |= {wire.SERVER_STATE: self._on_server_state}
                self._outdated = True
                await self._monitor(child)
            kind = restarts.classify(
                child.code, stop_requested=child.stop_requested, hung=child.hung, oom=False
            )
            reason = f"the tool host ended with exit code {child.code}"
        except (WorkerError, RpcError, PeerClosedError, TimeoutError, ValidationError) as error:
            kind, reason = ExitKind.CRASH, str(error) or "the tool host does not answer"
        finally:
            self._child = None
        now = self._clock()
        self._history = restarts.ended(self._history, kind, reason, now, self._jitter())
        log.info("tool_host_ended", kind=kind, reason=reason)
        if kind is not ExitKind.CLEAN:
            for name, state in self._states.items():
                self._states[name] = state.model_copy(update={"state": "failed", "error": reason})
        self._changes.wake()

    async def _monitor(self, child: ChildProcess) -> None:
        """Send changes to the tool host; end it when it hangs or there are no servers left."""
        child.clock = self._clock
        child.heartbeat()
        while not child.exited.is_set() and not child.peer.closed.is_set():
            changed = self._changes.changed  # before the first await, so that none is missed
            if not self._servers:
                child.stop()
                return
            if await child.hangs(SILENCE):
                return
            if self._outdated:
                self._outdated = False
                servers = tuple(_spec(name, server) for name, server in self._servers.items())
                message, accepted = wire.ServersSet(servers=servers), wire.RequestAccepted
                await child.peer.call(wire.SERVERS_SET, message, accepted, timeout=SET_TIMEOUT)
                self._child = child
                self._changes.wake()
            if await self.pins.compare_new():
                self._refresh()
            with anyio.move_on_after(wire.HEARTBEAT):
                await wait_any(changed, child.exited, child.peer.closed)

    def _on_server_state(self, params: JsonValue) -> None:
        state = wire.ServerState.model_validate(params)
        known = self._states.get(state.name)
        if known is None:
            return
        tools = state.tools if state.state == "connected" else known.tools
        self._states[state.name] = state.model_copy(update={"tools": tools})
        if self._servers[state.name].pin:
            self.pins.set_tools(state.name, tools)
        self._refresh()

    def _refresh(self) -> None:
        listed = {
            name: self.pins.usable(name) if self._servers[name].pin else state.tools
            for name, state in self._states.items()
        }
        self.tools, problems = build_catalog(listed, self._servers, self._reserved)
        for problem in set(problems) - set(self._problems):
            log.warning("mcp_tool_left_out", problem=problem)
        self._problems = problems
        self._changes.wake()


def _result(call: Call, answer: wire.ToolAnswer) -> ToolResult:
    return ToolResult(call_id=call.call_id, name=call.name, **dict(answer))


def _spec(name: str, server: McpServer) -> wire.ServerSpec:
    fields = server.model_dump(include=set(wire.ServerSpec.model_fields), exclude_none=True)
    return wire.ServerSpec.model_validate({**fields, "name": name})
