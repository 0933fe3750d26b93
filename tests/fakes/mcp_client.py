"""The official MCP client, unmodified, on a daemon: at ``/mcp``, or started as its command."""

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import httpx2
from fakes.api_client import ANY_PORT, address
from fakes.daemon import RunningDaemon, running_daemon
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent, TextResourceContents

from orchestrator.extensions.http_api.token import TokenFile
from thinker.protocol.messages import JsonObject

Mode: TypeAlias = Literal["auto", "legacy"]  # without and with a handshake
OPERATOR: JsonObject = {"channels": {"mcp": {"httpRole": "operator"}}}


@asynccontextmanager
async def mcp_daemon(
    home: Path, config: JsonObject, env: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[RunningDaemon, str, dict[str, str]]]:
    """A daemon with the address of its MCP server and the headers with its token."""
    token = TokenFile(home / "api-token").make_token()
    async with running_daemon(home, config, env={**ANY_PORT, **(env or {})}) as daemon:
        base = (await address(daemon)).removesuffix("/v1")
        yield daemon, f"{base}/mcp", {"authorization": f"Bearer {token}"}


@asynccontextmanager
async def over_http(
    url: str, headers: Mapping[str, str], mode: Mode = "auto", **options: Any
) -> AsyncIterator[Client]:
    """A client by streamable HTTP."""
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=None) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **options) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(home: Path, mode: Mode = "auto", **options: Any) -> AsyncIterator[Client]:
    """A client that has started ``orchestrator mcp``."""
    program, *args = command(home)
    server = StdioServerParameters(command=program, args=args, env={"PATH": os.environ["PATH"]})
    async with Client(stdio_client(server), mode=mode, **options) as client:
        yield client


def command(home: Path) -> list[str]:
    """How a client starts the server."""
    return [sys.executable, "-P", "-m", "orchestrator", "mcp", "--home", str(home)]


def said(result: CallToolResult) -> str:
    """The first text of a result."""
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


def data(result: CallToolResult) -> dict[str, Any]:
    """The structured content of a result."""
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def resource(client: Client, uri: str) -> str:
    """The text of a resource."""
    (found,) = (await client.read_resource(uri)).contents
    assert isinstance(found, TextResourceContents)
    return found.text
