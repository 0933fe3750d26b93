"""Reach an MCP server by streamable HTTP, with a limit on the size of one answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from orchestrator.toolhost.stdio_transport import MAX_MESSAGE
from orchestrator.toolhost.wire import ServerSpec

CONNECT = 10.0  # seconds
# What the SDK says of a server that does not take what is posted, such as one of the old transport.
REFUSALS = frozenset({"Not Found", "Server returned an error response"})
UNREACHABLE = "All connection attempts failed"  # what the SDK says of a server that is not there
ADVICE = (
    "{problem}: this is no address of streamable HTTP, which is often …/mcp; the old transport"
    ' "sse" is not supported'
)
READ = 930.0  # seconds of silence; more than the longest timeout of a call


@asynccontextmanager
async def http(spec: ServerSpec) -> AsyncIterator[TransportStreams]:
    """Connect to the server. The SDK follows no redirects to another origin."""
    headers = {"Accept-Encoding": "identity", **spec.headers}
    timeout = httpx2.Timeout(READ, connect=CONNECT)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, transport=_Capped()) as client,
        streamable_http_client(
            spec.url, http_client=client, max_sse_event_size=MAX_MESSAGE
        ) as streams,
    ):
        yield streams


def explained(problem: str) -> str:
    """Return why a server cannot be reached, and what to do where that is known."""
    if problem == UNREACHABLE:
        return f'{problem}; does it run, and is its "url" right?'
    return ADVICE.format(problem=problem) if problem in REFUSALS else problem


class _Capped(httpx2.AsyncHTTPTransport):
    """Limits the size of all bodies except event streams, whose events the SDK limits."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        streams = response.headers.get("content-type", "").startswith("text/event-stream")
        if not streams and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _CappedStream(response.stream)
        return response


@dataclass
class _CappedStream(httpx2.AsyncByteStream):
    inner: httpx2.AsyncByteStream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self.inner:
            size += len(chunk)
            if size > MAX_MESSAGE:
                raise httpx2.StreamError(f"an answer of more than {MAX_MESSAGE // 1024**2} MiB")
            yield chunk

    async def aclose(self) -> None:
        await self.inner.aclose()
