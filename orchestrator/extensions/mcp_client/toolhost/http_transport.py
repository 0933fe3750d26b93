"""Reach an MCP server by streamable HTTP or by the older SSE, with a limit on what it answers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus

import httpx2
import mcp_types as types
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client

from orchestrator.extensions.mcp_client.toolhost.stdio_transport import MAX_MESSAGE
from orchestrator.extensions.mcp_client.toolhost.unsent import FORGOTTEN, build_unsent_answer
from orchestrator.extensions.mcp_client.toolhost.wire import ServerSpec

CONNECT_SECONDS = 10.0
# The SDK's message for a server that refuses posts, such as one of the old transport.
REFUSALS = frozenset({"Not Found", "Server returned an error response"})
UNREACHABLE = "All connection attempts failed"  # the SDK's message for an unreachable server
ADVICE = (
    "{problem}: this is no address of streamable HTTP, which is often …/mcp; if the server speaks"
    ' the older transport, whose address is often …/sse, set "type": "sse"'
)
READ_SECONDS = 930.0  # of silence; more than the longest timeout of a call


@asynccontextmanager
async def connect_http(spec: ServerSpec) -> AsyncIterator[TransportStreams]:
    """Connect to the server. The SDK follows no redirects to another origin."""
    headers = {"Accept-Encoding": "identity", **spec.headers}
    timeout = httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    async with (
        httpx2.AsyncClient(
            headers=headers, timeout=timeout, transport=_CappedTransport()
        ) as client,
        streamable_http_client(
            spec.url, http_client=client, max_sse_event_size=MAX_MESSAGE
        ) as streams,
    ):
        yield streams


@asynccontextmanager
async def connect_sse(spec: ServerSpec) -> AsyncIterator[TransportStreams]:
    """Connect to a server of the older transport: one stream for all answers."""

    def build_client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        capped = _CappedTransport(events=True)
        return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, transport=capped)

    headers = {"Accept-Encoding": "identity", **spec.headers}
    async with sse_client(
        spec.url,
        headers,
        timeout=CONNECT_SECONDS,
        sse_read_timeout=READ_SECONDS,
        httpx_client_factory=build_client,
    ) as streams:
        yield streams


def explain_problem(problem: str) -> str:
    """Return the reason why a server cannot be reached, with advice if there is any."""
    if problem == UNREACHABLE:
        return f'{problem}; does it run, and is its "url" right?'
    return ADVICE.format(problem=problem) if problem in REFUSALS else problem


class _CappedTransport(httpx2.AsyncHTTPTransport):
    """Limits the size of bodies, and with ``events`` that of each event of a stream.

    The SDK limits those of streamable HTTP. A request whose session the server does not know is
    answered with `FORGOTTEN`: the specification wants status 404, some servers send 400.
    """

    def __init__(self, *, events: bool = False) -> None:
        super().__init__()
        self._events = events

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        streams = response.headers.get("content-type", "").startswith("text/event-stream")
        if (self._events or not streams) and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _CappedStream(response.stream, events=streams)
        if await _is_session_forgotten(request, response):
            await response.aclose()
            answer = build_unsent_answer(None, FORGOTTEN).model_dump(mode="json", by_alias=True)
            return httpx2.Response(HTTPStatus.NOT_FOUND, json=answer)
        return response


async def _is_session_forgotten(request: httpx2.Request, response: httpx2.Response) -> bool:
    if request.method != "POST" or MCP_SESSION_ID not in request.headers:
        return False
    if response.status_code == HTTPStatus.NOT_FOUND:
        return not await _is_method_unknown(response)
    bad = response.status_code == HTTPStatus.BAD_REQUEST
    return bad and b"session" in (await response.aread()).lower()


async def _is_method_unknown(response: httpx2.Response) -> bool:
    """Return whether a 404 is about the method; the newest protocol allows that status for it."""
    with suppress(ValueError, httpx2.StreamError):
        answer = types.jsonrpc_message_adapter.validate_json(await response.aread(), by_name=False)
        return (
            isinstance(answer, types.JSONRPCError) and answer.error.code == types.METHOD_NOT_FOUND
        )
    return False


@dataclass
class _CappedStream(httpx2.AsyncByteStream):
    inner: httpx2.AsyncByteStream
    events: bool  # a stream, which may last: only an event has a limit, which ends with a line

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self.inner:
            line = chunk.rfind(b"\n") if self.events else -1
            size = size + len(chunk) if line < 0 else len(chunk) - line
            if size > MAX_MESSAGE:
                raise httpx2.StreamError(f"an answer of more than {MAX_MESSAGE // 1024**2} MiB")
            yield chunk

    async def aclose(self) -> None:
        await self.inner.aclose()
