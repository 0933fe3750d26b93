"""The tool host's process, what its servers offer, and calls to them.

It runs while agents.json names a server, and is started again with back-off when it dies or
hangs; only the calls in flight notice. Tools of a server that is away stay offered: a call waits a
moment for it to come back.
"""

import random
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
from orchestrator.processes.child_process import Child, Program, running_child, wait_any
from orchestrator.processes.restarts import ExitKind, History
from orchestrator.settings import Settings
from orchestrator.toolhost import wire
from orchestrator.toolhost.wire import (
    RequestAccepted,
    ServerSpec,
    ServersSet,
    ServerState,
    ServerTool,
    ToolAnswer,
    ToolRequest,
)
from orchestrator.tools.mcp.mcp_tools import McpTool, catalogue
from orchestrator.tools.mcp.pins import ToolPins
from thinker.protocol.env import inherited
from thinker.protocol.messages import JsonObject, SideEffect, ToolResult
from thinker.protocol.peer import PeerClosedError, RpcError

ARGV = (sys.executable, "-P", "-m", "orchestrator.toolhost")
READY_WAIT = 10.0  # seconds after a change in which turns wait for the first answer of the servers
HOST_WAIT = 10.0  # seconds that a call waits for the tool host
GRACE = 15.0  # seconds beyond a call's own timeout: the tool host waits for its server first
REPEATABLE = (SideEffect.PURE, SideEffect.KEYED)
MAX_REPEATS = 2  # of a call whose answer was lost
SET_TIMEOUT = 10.0  # seconds
SILENCE = 3 * wire.HEARTBEAT  # seconds after which the tool host counts as hung
ABORT_TIMEOUT = 3.0  # seconds for the stack dump before the kill
log = structlog.get_logger()


class McpServers:
    """All MCP servers. `run` must be running; ``reserved`` are the names of built-in tools."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        reserved: Collection[str],
        pins: ToolPins,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = lambda: random.uniform(0.5, 1.5),  # noqa: S311 - not a secret
    ) -> None:
        env = {**inherited(environ), wire.LOG_VARIABLE: settings.log_level}
        self._program = Program("the tool host", ARGV, env, settings.home, wire.FD_VARIABLE)
        self._reserved = reserved
        self.pins = pins
        self._clock = clock
        self._jitter = jitter
        self._servers: dict[str, McpServer] = {}
        self._states: dict[str, ServerState] = {}
        self._problems: tuple[str, ...] = ()
        self._child: Child | None = None
        self._history = History()
        self._news = anyio.Event()
        self._set_at = 0.0
        self._outdated = False  # the tool host has not been told of the newest servers
        self.tools: Mapping[str, McpTool] = {}

    # --- what there is ---------------------------------------------------------------------

    def define(self, servers: Mapping[str, McpServer]) -> None:
        """The servers of the configuration; those that did not change are left alone."""
        wanted = {name: server for name, server in servers.items() if server.type != "sse"}
        if wanted == self._servers:
            return
        held = self._servers
        fresh = {n for n in wanted if n not in held or _spec(n, wanted[n]) != _spec(n, held[n])}
        self._states = {
            name: ServerState(name=name, state="starting") if name in fresh else self._states[name]
            for name in wanted
        }
        self._servers = wanted
        self.pins.follow({n: self._states[n].tools for n in wanted if wanted[n].pin})
        self._history = restarts.forgiven(self._history)
        self._set_at = self._clock()
        self._outdated = True
        self._refresh()

    def states(self) -> tuple[ServerState, ...]:
        """Every server's state, in the order of agents.json."""
        return tuple(self._states.values())

    async def wait_ready(self) -> None:
        """Wait until each server has connected or failed, for `READY_WAIT` after a change at most."""
        while any(map(self._is_pending, self._states.values())):
            left = max(0.0, self._set_at + READY_WAIT - self._clock())
            with anyio.move_on_after(left) as waiting:
                await self._news.wait()
            if waiting.cancelled_caught:
                return

    def _is_pending(self, state: ServerState) -> bool:
        unread = state.state == "connected" and not self.pins.compared(state.name)
        return unread or state.state == "starting"

    def why_missing(self, name: str) -> str:
        """What a model is told that calls a tool which is not there."""
        if name in self.pins.withheld():
            return chat_texts.TOOL_WITHHELD.format(tool=name)
        return f"there is no tool {name!r} any more; its MCP server is away or was removed"

    def recheck_pins(self) -> None:
        """The operator may have approved tools."""
        self.pins.recheck()
        self._notify()

    def _usable(self, state: ServerState) -> tuple[ServerTool, ...]:
        return self.pins.usable(state.name) if self._servers[state.name].pin else state.tools

    async def call(self, tool: McpTool, arguments: JsonObject, key: str) -> ToolAnswer:
        """Call a tool; ``key`` is the same whenever the same call is made again.

        Raises:
            ToolUnavailableError: it certainly did not run.
            ToolLostError: nobody knows whether it ran.
        """
        with anyio.move_on_after(HOST_WAIT):
            while (child := self._child) is None or child.peer.closed.is_set():
                await self._news.wait()
        if child is None or child.peer.closed.is_set():
            raise ToolUnavailableError(f"the tool host is away: {self._history.reason}")
        request = ToolRequest(
            server=tool.server,
            tool=tool.tool,
            arguments=tool.arguments(arguments, key),
            timeout=tool.timeout,
            env=dict(tool.env),
        )
        try:
            return await child.peer.call(
                wire.TOOLS_CALL, request, ToolAnswer, timeout=tool.timeout + GRACE
            )
        except RpcError as error:
            if error.code == wire.NOT_SENT:
                raise ToolUnavailableError(str(error)) from error
            raise ToolLostError(str(error)) from error
        except (PeerClosedError, TimeoutError, ValidationError) as error:
            raise ToolLostError(f"the tool host gave no answer ({error})") from error

    async def result(self, tool: McpTool, call: Call) -> ToolResult | None:
        """What came of a call that is in the journal; None when nobody knows whether it ran.

        A call that may be made again (by the class with which it was planned) is, `MAX_REPEATS` times.
        """
        again = call.side_effect in REPEATABLE and call.side_effect is tool.spec.side_effect
        lost, problem = False, ""
        for _ in range(1 + MAX_REPEATS if again else 1):
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
        return _result(call, ToolAnswer(content=f"the tool failed: {problem}", is_error=True))

    # --- the process -----------------------------------------------------------------------

    async def run(self) -> None:
        """Keep the tool host running while there are servers, until cancelled."""
        while True:
            delay = restarts.wait(self._history, self._clock()) if self._servers else None
            if delay == 0.0:
                await self._run_worker()
                continue
            with anyio.move_on_after(delay):
                await self._news.wait()

    async def _run_worker(self) -> None:
        """From the start of a process to its end."""
        self._history = restarts.starting(self._history, self._clock())
        kind, reason = ExitKind.CLEAN, ""
        try:
            async with running_child(self._program, Child) as child:
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
        self._notify()

    async def _monitor(self, child: Child) -> None:
        """Tell it of changes; end it when it hangs or is not needed any more."""
        beats = [self._clock()]
        child.on_heartbeat = lambda: beats.__setitem__(0, self._clock())
        while not child.exited.is_set() and not child.peer.closed.is_set():
            news = self._news  # taken before anything is awaited, so that none is missed
            if not self._servers:
                child.stop()
                return
            if self._clock() - beats[0] > SILENCE:
                child.abort(f"no heartbeat for {SILENCE:.0f} s")
                with anyio.move_on_after(ABORT_TIMEOUT):
                    await child.exited.wait()
                return
            if self._outdated:
                self._outdated = False
                servers = tuple(_spec(name, server) for name, server in self._servers.items())
                message = ServersSet(servers=servers)
                await child.peer.call(
                    wire.SERVERS_SET, message, RequestAccepted, timeout=SET_TIMEOUT
                )
                self._child = child
                self._notify()
            if await self.pins.read():
                self._refresh()
            with anyio.move_on_after(wire.HEARTBEAT):
                await wait_any(news, child.exited, child.peer.closed)

    def _on_server_state(self, params: JsonValue) -> None:
        state = ServerState.model_validate(params)
        known = self._states.get(state.name)
        if known is None:
            return
        tools = state.tools if state.state == "connected" else known.tools
        self._states[state.name] = state.model_copy(update={"tools": tools})
        if self._servers[state.name].pin:
            self.pins.listed(state.name, tools)
        self._refresh()

    def _refresh(self) -> None:
        listed = {name: self._usable(state) for name, state in self._states.items()}
        self.tools, problems = catalogue(listed, self._servers, self._reserved)
        for problem in set(problems) - set(self._problems):
            log.warning("mcp_tool_left_out", problem=problem)
        self._problems = problems
        self._notify()

    def _notify(self) -> None:
        self._news.set()
        self._news = anyio.Event()


def _result(call: Call, answer: ToolAnswer) -> ToolResult:
    return ToolResult(call_id=call.call_id, name=call.name, **dict(answer))


def _spec(name: str, server: McpServer) -> ServerSpec:
    return ServerSpec(
        name=name,
        command=server.command or "",
        args=server.args,
        env=server.env,
        cwd=server.cwd,
        url=server.url or "",
        headers=server.headers,
    )
