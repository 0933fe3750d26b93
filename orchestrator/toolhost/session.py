"""One MCP server: connected, followed, connected again when it fails, and called."""

import hashlib
import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import cast

import anyio
import orjson
import structlog
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    Implementation,
    RequestParamsMeta,
    Tool,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from orchestrator import __version__
from orchestrator.processes.restarts import delay
from orchestrator.toolhost.content import tool_answer
from orchestrator.toolhost.http_transport import http
from orchestrator.toolhost.stdio_transport import ConnectionEnd, stdio
from orchestrator.toolhost.wire import (
    ENV,
    LOST,
    NOT_SENT,
    ServerSpec,
    ServerState,
    ServerTool,
    State,
    ToolAnswer,
    ToolRequest,
)
from thinker.protocol.messages import MAX_DEPTH, too_deep
from thinker.protocol.peer import RpcError

CONNECT_TIMEOUT = 30.0  # seconds until the first list of tools; npx may have to download
CONNECT_WAIT = 10.0  # seconds that a call waits for a server that is being connected again
HEALTHY = 60.0  # seconds after which an end counts as the first failure again
PULSE = 30.0  # seconds between two looks at an idle server
MAX_TOOLS = 500  # of one server
MAX_LIST = 4 * 1024 * 1024  # bytes of all its tools
# Errors after which nobody knows whether the tool ran: made by the SDK when an answer is missing
# or broken, or by a server that failed inside.
UNSURE = (CONNECTION_CLOSED, REQUEST_TIMEOUT, INTERNAL_ERROR, PARSE_ERROR)
log = structlog.get_logger()


class ServerUnusable(Exception):  # noqa: N818 - what a foreign server did, not an error of ours
    """The server cannot be used as it is; the text says why."""


class McpSession:
    """One configured server. ``report`` is told of every change of its state."""

    def __init__(
        self,
        spec: ServerSpec,
        report: Callable[[ServerState], None],
        jitter: Callable[[], float] = lambda: random.uniform(0.5, 1.5),  # noqa: S311 - no secret
    ) -> None:
        self.spec = spec
        self._report = report
        self._jitter = jitter
        self._state = ServerState(name=spec.name, state="starting")
        self._client: Client | None = None
        self._connected = anyio.Event()
        self._changed = anyio.Event()
        self._calls = 0

    async def run(self) -> None:
        """Keep the server connected until cancelled; nothing that it does comes out of here."""
        failures = 0
        self._report(self._state)
        while True:
            began = time.monotonic()
            link = ConnectionEnd()
            try:
                await self._session(link)
            except Exception as error:  # noqa: BLE001 - a foreign server, through a foreign library
                problem = _reason(error, link)
            failures = 1 if time.monotonic() - began >= HEALTHY else failures + 1
            log.warning("mcp_server_failed", server=self.spec.name, problem=problem)
            self._set_state("failed", error=problem)
            await anyio.sleep(delay(failures) * self._jitter())

    async def _session(self, link: ConnectionEnd) -> None:
        """One connection, from its start to its end, which is always an exception."""
        transport = stdio(self.spec, link) if self.spec.command else http(self.spec)
        with anyio.fail_after(CONNECT_TIMEOUT) as bound:
            async with Client(
                transport,
                message_handler=self._on_message,
                client_info=Implementation(name="orchestrator", version=__version__),
                cache=None,
            ) as client:
                await self._list(client)
                bound.deadline = math.inf
                self._client = client
                self._connected.set()
                log.info("mcp_server_connected", server=self.spec.name, tools=self._count())
                try:
                    await self._follow(client, link)
                finally:  # before the client is closed, which takes its time
                    self._client, self._connected = None, anyio.Event()

    async def _follow(self, client: Client, link: ConnectionEnd) -> None:
        """Read the list again when it changed, or to see whether an idle server still answers."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_ended, link)
            tasks.start_soon(self._listen, client)
            while True:
                with anyio.move_on_after(PULSE):
                    await self._changed.wait()
                if self._changed.is_set() or not self._calls:
                    self._changed = anyio.Event()
                    with anyio.fail_after(CONNECT_TIMEOUT):
                        await self._list(client)

    async def _listen(self, client: Client) -> None:
        """Servers of the newest protocol tell of changes only those who asked."""
        tools = client.server_capabilities.tools
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS and tools and tools.list_changed:
            with suppress(MCPError, RuntimeError, TimeoutError):  # the pulse finds changes as well
                async with client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        self._changed.set()

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changed.set()

    async def _list(self, client: Client) -> None:
        found: list[ServerTool] = []
        size, cursor = 0, None
        while True:
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                if too_deep(tool.input_schema):
                    raise ServerUnusable(
                        f"{tool.name!r} takes more than {MAX_DEPTH} levels of JSON"
                    )
                found.append(_tool(tool))
                size += len(orjson.dumps(tool.input_schema)) + len(tool.description or "")
            if len(found) > MAX_TOOLS or size > MAX_LIST:
                raise ServerUnusable(f"lists more than {MAX_TOOLS} tools or {MAX_LIST} bytes")
            cursor = page.next_cursor
            if cursor is None:
                break
        self._set_state("connected", tools=tuple(found))

    def _set_state(
        self, state: State, *, tools: tuple[ServerTool, ...] = (), error: str = ""
    ) -> None:
        new = ServerState(name=self.spec.name, state=state, tools=tools, error=error)
        if new != self._state:
            self._state = new
            self._report(new)

    def _count(self) -> int:
        return len(self._state.tools)

    async def call(self, request: ToolRequest) -> ToolAnswer:
        """Call a tool.

        Raises:
            RpcError: ``NOT_SENT`` or ``LOST``.
        """
        self._calls += 1
        try:
            with anyio.move_on_after(min(CONNECT_WAIT, request.timeout)):
                while self._client is None:
                    await self._connected.wait()
            if self._client is None:
                problem = self._state.error or "it has not answered yet"
                raise RpcError(NOT_SENT, f"the server {self.spec.name!r} is away: {problem}")
            return await self._request(self._client, request)
        finally:
            self._calls -= 1

    async def _request(self, client: Client, request: ToolRequest) -> ToolAnswer:
        try:
            with anyio.fail_after(request.timeout):
                told = cast("RequestParamsMeta", {ENV: request.env}) if request.env else None
                return tool_answer(
                    await client.call_tool(request.tool, request.arguments, meta=told)
                )
        except TimeoutError as error:
            raise RpcError(LOST, f"no answer in {request.timeout:g} seconds") from error
        except MCPError as error:
            self._changed.set()  # see at once whether it is still there
            if error.code in UNSURE:
                raise RpcError(LOST, error.message) from error
            return ToolAnswer(content=error.message, is_error=True)
        except (RuntimeError, ValidationError) as error:
            text = f"the tool ran, but what it answered cannot be used: {error}"
            return ToolAnswer(content=text, is_error=True)


async def _until_ended(link: ConnectionEnd) -> None:
    await link.ended.wait()
    raise ServerUnusable(link.problem)


def _tool(tool: Tool) -> ServerTool:
    hints = tool.annotations
    return ServerTool(
        name=tool.name,
        description=tool.description or "",
        parameters=tool.input_schema,
        read_only=hints is not None and hints.read_only_hint is True,
        idempotent=hints is not None and hints.idempotent_hint is True,
        digest=_digest(tool),
    )


def _digest(tool: Tool) -> str:
    """Of name, title, description, schemas and annotations, whatever their keys' order.

    What only programs look at (``_meta``, icons) may change from list to list.
    """
    said = tool.model_dump(mode="json", by_alias=True, exclude={"meta", "icons"})
    return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _reason(error: BaseException, link: ConnectionEnd) -> str:
    """Why a connection ended: what we found, else what became of it, else the first cause."""
    found = (str(cause) for cause in _causes(error) if isinstance(cause, ServerUnusable))
    problem = next(found, link.problem)  # a server that we leave for what we found ends, too
    if problem:
        return problem
    first = next(_causes(error))
    if isinstance(first, TimeoutError):
        return f"did not answer in {CONNECT_TIMEOUT:.0f} seconds"
    return str(first) or type(first).__name__


def _causes(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _causes(inner)
    else:
        yield error
