"""Keep one MCP server connected, read its list of tools, and call them."""

import hashlib
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import cast

import anyio
import mcp_types as types
import orjson
import structlog
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from orchestrator import __version__
from orchestrator.extensions.mcp_client.toolhost import wire
from orchestrator.extensions.mcp_client.toolhost.content import build_tool_answer
from orchestrator.extensions.mcp_client.toolhost.http_transport import (
    connect_http,
    connect_sse,
    explain_problem,
)
from orchestrator.extensions.mcp_client.toolhost.jail_hints import (
    explain_answer_in_jail,
    explain_problem_in_jail,
)
from orchestrator.extensions.mcp_client.toolhost.listed_tools import METHOD, ListNotes, repair_lists
from orchestrator.extensions.mcp_client.toolhost.server_jails import UNJAILED, ServerJails
from orchestrator.extensions.mcp_client.toolhost.stdio_transport import ConnectionEnd, connect_stdio
from orchestrator.extensions.mcp_client.toolhost.unsent import FORGOTTEN, NOT_TAKEN
from orchestrator.processes import restarts
from thinker.protocol.messages import count_values
from thinker.protocol.peer import RpcError

CONNECT_TIMEOUT = 60.0  # seconds until the first list of tools; npx may have to download
MAX_CONNECT_TIMEOUT = (
    480.0  # seconds; after each try that took too long, the next has twice as many
)
CONNECT_WAIT = 10.0  # seconds that a call waits for a server that is reconnecting
FIRST_MINUTE = 60.0  # seconds in which a server that has never answered is tried often
FIRST_WAIT = 4.0  # seconds at most between tries then
HEALTHY = 60.0  # seconds of connection after which the count of failures starts again
PULSE = 30.0  # seconds between two reads of an idle server's list
UNDECLARED_WAIT = 10.0  # seconds for the list of a server that declares no tools
SESSION_GRACE = 5.0  # seconds that other calls have to end once a session is lost
PING = 5.0  # seconds between two pings of a server with open calls
PING_TIMEOUT = 20.0  # seconds for an answer; an open call that may take longer extends it
MAX_TOOLS = 500  # of one server
MAX_PAGES = 500  # of its list
MAX_LIST = 4 * 1024 * 1024  # bytes of all tools of one server
MAX_VALUES = 30_000  # of their schemas; the daemon does nothing else while it reads a list
# Errors after which it is unknown whether the tool ran: from the SDK for a missing or broken
# answer, or from a server with an internal error.
UNSURE = (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT, types.INTERNAL_ERROR, types.PARSE_ERROR)
TOO_MANY = f"the tool {{tool!r}} and those after it are left out: more than {MAX_TOOLS} tools"
TOO_LONG = (
    "the tool {tool!r} is left out: with it, the list has more than"
    f" {MAX_LIST} bytes, or {MAX_VALUES} values in schemas"
)
SESSION_NOT_FOUND = -32001  # of servers; the SDK's own code for a timeout
LOST_CONNECTION = (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT)
log = structlog.get_logger()


class UnusableServerError(Exception):
    """The server cannot be used; the message says why."""


class _NotTakenError(Exception):
    """The server certainly did not run a call: it ended before, or has forgotten the session."""


class McpSession:
    """The session with one configured server. ``report`` is called with every new state."""

    def __init__(
        self,
        spec: wire.ServerSpec,
        report: Callable[[wire.ServerState], None],
        jitter: Callable[[], float] = restarts.draw_jitter,
        jails: ServerJails = UNJAILED,
    ) -> None:
        self.spec = spec
        self._jails = jails
        self._end = ConnectionEnd()
        self._report = report
        self._jitter = jitter
        self._state = wire.ServerState(name=spec.name, state="starting")
        self._listed = False  # ever
        self._client: Client | None = None
        self._connected = anyio.Event()
        self._changed = anyio.Event()
        self._calls: list[float] = []  # the timeouts of open calls
        self._sent = 0  # calls that the server has not answered
        self._answered = anyio.Event()
        self._session_lost = anyio.Event()
        self._patience = CONNECT_TIMEOUT
        self._notes = ListNotes()

    async def run(self) -> None:
        """Keep the server connected until cancelled. Failures are logged and reported."""
        failures, told, born = 0, "", time.monotonic()
        self._report(self._state)
        while True:
            began = time.monotonic()
            end = self._end = ConnectionEnd()
            try:
                await self._run_connection(end)
            except Exception as error:  # noqa: BLE001 - a foreign server, through a foreign library
                problem = explain_problem(self._find_reason(error, end))
                problem = explain_problem_in_jail(problem, end.sandbox)
            failures = 1 if time.monotonic() - began >= HEALTHY else failures + 1
            if problem != told or self._state.state == "connected":
                log.warning("mcp_server_failed", server=self.spec.name, problem=problem)
                told = problem
            self._set_state("failed", error=problem)
            wait = compute_wait(failures, None if self._listed else time.monotonic() - born)
            await anyio.sleep(wait * self._jitter())
            self._set_state("starting", error=problem)

    async def _run_connection(self, end: ConnectionEnd) -> None:
        """Run one connection; its end is always an exception."""
        spec = self.spec
        if spec.command:
            transport = connect_stdio(spec, end, self._jails)
        else:
            transport = connect_sse(spec) if spec.type == "sse" else connect_http(spec)
        with anyio.fail_after(self._patience) as bound:
            async with Client(
                repair_lists(transport, self._notes),
                message_handler=self._on_message,
                client_info=types.Implementation(name="orchestrator", version=__version__),
                cache=None,
            ) as client:
                await self._list_tools(client)
                bound.deadline, self._listed = math.inf, True
                self._client, self._session_lost = client, anyio.Event()
                self._connected.set()
                tools = len(self._state.tools)
                log.info("mcp_server_connected", server=self.spec.name, tools=tools)
                try:
                    await self._follow_connection(client, end)
                finally:  # closing the client takes a while
                    self._drop_client()

    async def _follow_connection(self, client: Client, end: ConnectionEnd) -> None:
        """Read the list when it has changed, and check that the server still answers."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_wait_for_end, end)
            tasks.start_soon(self._end_lost_session)
            tasks.start_soon(self._listen_for_changes, client)
            tasks.start_soon(self._ping_server, client)
            while True:
                with anyio.move_on_after(PULSE):
                    await self._changed.wait()
                if self._changed.is_set() or not self._calls:
                    self._changed = anyio.Event()
                    with self._limit_answer_time():
                        await self._list_tools(client)

    async def _ping_server(self, client: Client) -> None:
        """Ping the server while calls are open; an error is an answer."""
        while True:
            await anyio.sleep(PING)
            if not self._calls:
                continue
            with self._limit_answer_time():
                try:
                    if client.protocol_version in MODERN_PROTOCOL_VERSIONS:  # they have no ping
                        await client.session.send_discover(client.protocol_version)
                    else:
                        await client.session.send_ping()
                except MCPError as error:
                    if error.code in LOST_CONNECTION:
                        raise

    @contextmanager
    def _limit_answer_time(self) -> Iterator[None]:
        """Raise `UnusableServerError` if the server does not answer in time.

        Many servers answer nothing while they run a call, so they may be silent for as long as an
        open call may take.
        """
        limit = max((PING_TIMEOUT, *self._calls))
        with anyio.move_on_after(limit) as scope:
            yield
        if scope.cancelled_caught:
            raise UnusableServerError(f"did not answer in {limit:g} seconds")

    async def _listen_for_changes(self, client: Client) -> None:
        """Subscribe to changes of the list, as servers of the newest protocol require."""
        tools = client.server_capabilities.tools
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS and tools and tools.list_changed:
            with suppress(MCPError, RuntimeError, TimeoutError):  # the pulse finds changes as well
                async with client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        self._changed.set()

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed.set()

    async def _list_tools(self, client: Client) -> None:
        """Read the whole list. A server may have none, whether or not it says so."""
        self._notes.clear()
        found: list[wire.ServerTool] = []
        declared = client.server_capabilities.tools is not None
        with anyio.move_on_after(None if declared else UNDECLARED_WAIT):
            try:
                found = await self._read_pages(client)
            except MCPError as error:
                if error.code in (*LOST_CONNECTION, NOT_TAKEN):
                    raise
                if declared and error.code != types.METHOD_NOT_FOUND:
                    raise UnusableServerError(f"answered {METHOD} with: {error.message}") from error
        self._set_state("connected", tools=tuple(found), notes=self._notes.list_notes())

    async def _read_pages(self, client: Client) -> list[wire.ServerTool]:
        """Return the tools of all pages; what is beyond a limit is left out with a note."""
        found: dict[str, wire.ServerTool] = {}
        size, read, cursors = 0, 0, dict[str | None, None]()
        cursor: str | None = None
        while True:
            cursors[cursor] = None
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                name = tool.name[:60]
                larger = size + len(orjson.dumps(tool.input_schema)) + len(tool.description or "")
                longer = read + count_values(tool.input_schema)
                if len(found) >= MAX_TOOLS:
                    self._notes.add(TOO_MANY.format(tool=name))
                    return list(found.values())
                if tool.name in found:
                    self._notes.add(f"it lists the tool {name!r} twice; the first counts")
                elif larger > MAX_LIST or longer > MAX_VALUES:
                    self._notes.add(TOO_LONG.format(tool=name))
                else:
                    found[tool.name], size, read = _build_tool(tool), larger, longer
            cursor = page.next_cursor or None
            if cursor is None:
                return list(found.values())
            if cursor in cursors or len(cursors) >= MAX_PAGES:
                self._notes.add("the end of its list is left out: its pages repeat or do not end")
                return list(found.values())

    def _set_state(
        self,
        state: wire.State,
        *,
        tools: tuple[wire.ServerTool, ...] = (),
        error: str = "",
        notes: tuple[str, ...] = (),
    ) -> None:
        new = wire.ServerState(
            name=self.spec.name,
            state=state,
            tools=tools,
            error=error,
            notes=notes,
            sandbox=self._end.sandbox or self._state.sandbox,
        )
        if new != self._state:
            self._state = new
            self._report(new)

    async def call_mcp_tool(self, request: wire.ToolRequest) -> wire.ToolAnswer:
        """Call a tool, and once more in a new session if the server certainly did not run it.

        Raises:
            RpcError: with the code ``NOT_SENT`` (it did not run) or ``LOST`` (unknown).
        """
        self._calls.append(request.timeout)
        try:
            with suppress(_NotTakenError):
                return await self._send_request(await self._wait_for_client(request), request)
            try:
                return await self._send_request(await self._wait_for_client(request), request)
            except _NotTakenError as error:
                problem = f"the server {self.spec.name!r} did not take the call: {error}"
                raise RpcError(wire.NOT_SENT, problem) from error
        finally:
            self._calls.remove(request.timeout)

    async def _wait_for_client(self, request: wire.ToolRequest) -> Client:
        with anyio.move_on_after(min(CONNECT_WAIT, request.timeout)):
            while self._client is None:
                await self._connected.wait()
        if self._client is None:
            problem = self._state.error or "it has not answered yet"
            raise RpcError(wire.NOT_SENT, f"the server {self.spec.name!r} is away: {problem}")
        return self._client

    def _drop_client(self) -> None:
        """Let new calls wait for the next connection."""
        self._client = None
        if self._connected.is_set():
            self._connected = anyio.Event()

    async def _end_lost_session(self) -> None:
        """End the connection once its session is lost, and the other calls have ended."""
        await self._session_lost.wait()
        with anyio.move_on_after(SESSION_GRACE):
            while self._sent:
                self._answered = anyio.Event()
                await self._answered.wait()
        raise UnusableServerError(FORGOTTEN)

    async def _send_request(self, client: Client, request: wire.ToolRequest) -> wire.ToolAnswer:
        meta = cast("types.RequestParamsMeta", {wire.ENV: request.env}) if request.env else None
        self._sent += 1
        try:
            with anyio.fail_after(request.timeout):
                result = await client.call_tool(request.tool, request.arguments, meta=meta)
                return explain_answer_in_jail(build_tool_answer(result), self._end.sandbox)
        except TimeoutError as error:
            self._changed.set()  # check immediately whether the server still answers
            raise RpcError(wire.LOST, f"no answer in {request.timeout:g} seconds") from error
        except MCPError as error:
            if error.code == NOT_TAKEN or _tells_of_session(error):
                if client is self._client:
                    self._drop_client()
                    self._session_lost.set()
                raise _NotTakenError(error.message) from error
            self._changed.set()
            if error.code in UNSURE:
                raise RpcError(wire.LOST, error.message) from error
            return wire.ToolAnswer(content=error.message, is_error=True)
        except (RuntimeError, ValidationError) as error:
            text = f"the tool ran, but its answer cannot be used: {error}"
            return wire.ToolAnswer(content=text, is_error=True)
        finally:
            self._sent -= 1
            self._answered.set()

    def _find_reason(self, error: BaseException, end: ConnectionEnd) -> str:
        """Return why a connection ended: a finding of this module, its end, or its cause."""
        found = (str(one) for one in _list_causes(error) if isinstance(one, UnusableServerError))
        problem = next(found, end.problem)  # a connection that is left ends, too: findings first
        if problem:
            return problem
        first = next(_list_causes(error))
        if isinstance(first, TimeoutError):
            waited = self._patience
            self._patience = min(2 * waited, max(MAX_CONNECT_TIMEOUT, waited))
            wrote = end.last_line and f"; it wrote: {end.last_line}"
            return f"did not answer in {waited:g} s; it now has {self._patience:g} s{wrote}"
        if isinstance(first, ValidationError):
            return f"sent an answer that is no MCP: {first.errors()[0]['msg']}"
        return str(first) or type(first).__name__


def compute_wait(failures: int, age: float | None) -> float:
    """Return the seconds until the next try, without jitter.

    ``age`` is the time in seconds since a server that has never answered was added: turns wait for
    its tools, so that it is tried again soon.
    """
    wait = restarts.compute_backoff(failures)
    return min(wait, FIRST_WAIT) if age is not None and age < FIRST_MINUTE else wait


async def _wait_for_end(end: ConnectionEnd) -> None:
    await end.ended.wait()
    raise UnusableServerError(end.problem)


def _build_tool(tool: types.Tool) -> wire.ServerTool:
    hints = tool.annotations
    return wire.ServerTool(
        name=tool.name,
        description=tool.description or "",
        parameters=tool.input_schema,
        read_only=hints is not None and hints.read_only_hint is True,
        idempotent=hints is not None and hints.idempotent_hint is True,
        digest=_hash_tool(tool),
    )


def _hash_tool(tool: types.Tool) -> str:
    """Hash a tool without ``_meta`` and icons, which vary between lists and reach no model."""
    shown = tool.model_dump(mode="json", by_alias=True, exclude={"meta", "icons"})
    return hashlib.sha256(orjson.dumps(shown, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _tells_of_session(error: MCPError) -> bool:
    """Return whether a server has forgotten the session, in the words of the official SDKs."""
    return error.code == SESSION_NOT_FOUND and "session" in error.message.lower()


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _list_causes(inner)
    else:
        yield error
