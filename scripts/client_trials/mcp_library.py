"""The official MCP client for Python, at ``/mcp`` and with the command that it starts."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager

import httpx2
from mcp import MCPError
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from trial import AGENT, BASE, COMMAND, TOKEN, holds, origin, report, same

TOOL = f"ask_{AGENT}"


@asynccontextmanager
async def over_http(mode: str = "auto", token: str = TOKEN) -> AsyncIterator[Client]:
    """Connect by streamable HTTP."""
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=None) as http:
        transport = streamable_http_client(f"{origin(BASE)}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


@asynccontextmanager
async def over_stdio(mode: str = "auto") -> AsyncIterator[Client]:
    """Start the command and connect to it."""
    program, *words = COMMAND
    server = StdioServerParameters(command=program, args=words, env={"PATH": os.environ["PATH"]})
    async with Client(stdio_client(server), mode=mode) as client:
        yield client


async def try_wrong_token() -> None:
    """Be told that the token is wrong."""
    found = ""
    try:
        async with over_http(token="orc_wrong") as client:  # noqa: S106 - it is no token
            await client.list_tools()
    except Exception as error:  # noqa: BLE001 - a group of what its tasks raised
        found = repr(error)
    holds(found, "orchestrator api token")


def checks(connect: Callable, name: str) -> dict[str, Callable[[], None]]:
    """Return what is tried by a way in."""

    async def chat() -> None:
        """Without a handshake, ask an agent, go on, and read the chat."""
        async with connect("auto") as client:
            first = await client.call_tool(TOOL, {"message": "Hello"})
            same(first.content[0].text, "I read: Hello")
            chat = first.structured_content["chat"]
            more = await client.call_tool(TOOL, {"message": "On", "chat": chat})
            same(more.content[0].text, "I read: On")
            read = await client.call_tool("read_chat", {"chat": chat})
            texts = [line["text"] for line in read.structured_content["messages"]]
            same(texts, ["Hello", "I read: Hello", "On", "I read: On"])

    async def tools() -> None:
        """With a handshake, find agents among the tools, and the newest turns as resources."""
        async with connect("legacy") as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            same({TOOL, "list_chats", "read_chat"} <= set(tools), wanted=True)
            holds((await client.list_resources()).resources, "orchestrator://turns")

    async def errors() -> None:
        """Raise what the library has, for a tool that is unknown and a token that is wrong."""
        async with connect() as client:
            try:
                found = await client.call_tool("ask_none", {"message": "x"})
                same(found.is_error, wanted=True)
            except MCPError as error:
                holds(error, "ask_none")
        if connect is over_http:
            await try_wrong_token()

    async def repeat() -> None:
        """Send the same message again and get the same answer; it was made once."""
        async with connect() as client:
            sent = {"message": f"count {name}", "message_id": name, "chat": name}
            for _ in range(2):
                done = await client.call_tool(TOOL, sent)
                same(done.content[0].text, "asked 1 times")

    tried = (chat, tools, errors, repeat)
    return {check.__name__: run(check) for check in tried}


def run(check: Callable[[], Coroutine]) -> Callable[[], None]:
    """Return a check that runs to its end."""
    return lambda: asyncio.run(check())


report("mcp", checks(over_http, "mcp-http"), "mcp (Python), /mcp")
report("mcp", checks(over_stdio, "mcp-stdio"), "mcp (Python), orchestrator mcp")
