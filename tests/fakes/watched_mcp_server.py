"""A session with an MCP server, and what it reports."""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from fakes.mcp_config import SERVER
from fakes.time_limit import LIMIT, time_limit

from orchestrator.extensions.mcp_client.toolhost.session import McpSession
from orchestrator.extensions.mcp_client.toolhost.wire import (
    ServerSpec,
    ServerState,
    ToolAnswer,
    ToolRequest,
)
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import RpcError

ODD_SERVER = SERVER.with_name("odd_mcp_server.py")


class Watched:
    """A running `McpSession` and what it reported."""

    def __init__(self, spec: ServerSpec) -> None:
        self.states: list[ServerState] = []
        self._news = anyio.Event()
        self.server = McpSession(spec, self._hear, lambda: 0.0)

    def _hear(self, state: ServerState) -> None:
        self.states.append(state)
        self._news.set()
        self._news = anyio.Event()

    async def until(self, condition: Callable[[ServerState], bool], since: int = 0) -> ServerState:
        """The first report, from the ``since``-th on, of which the condition holds."""
        while True:
            for state in self.states[since:]:
                if condition(state):
                    return state
            await self._news.wait()

    async def call(self, tool: str, arguments: JsonObject, timeout: float = LIMIT) -> ToolAnswer:  # noqa: ASYNC109 - the call's own
        """Call a tool."""
        request = ToolRequest(server="fake", tool=tool, arguments=arguments, timeout=timeout)
        return await self.server.call_mcp_tool(request)


@asynccontextmanager
async def watched(spec: ServerSpec) -> AsyncIterator[Watched]:
    """A server that is running; all of its processes are gone when the block ends."""
    found = Watched(spec)
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(found.server.run)
            yield found
            tasks.cancel_scope.cancel()


async def refused(call: Awaitable[ToolAnswer]) -> int:
    """The code of a call that fails."""
    with pytest.raises(RpcError) as caught:
        await call
    return caught.value.code


def program(code: str) -> ServerSpec:
    """A program that is no MCP server."""
    return ServerSpec(name="fake", command=sys.executable, args=("-c", code))


def odd(plan: JsonObject) -> ServerSpec:
    """A server whose list is given."""
    argv = (str(ODD_SERVER), json.dumps(plan))
    return ServerSpec(name="fake", command=sys.executable, args=argv)
