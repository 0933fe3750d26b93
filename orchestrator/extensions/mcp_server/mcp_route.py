"""``/mcp``: the MCP server by streamable HTTP.

A response is JSON, or a stream of events if there is news before it or it takes long. Each client
gets a session id, by which its requests can be cancelled and repetitions recognized; no session
state is kept.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

import anyio
import orjson
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from orchestrator.extensions.mcp_server.mcp_caller import McpCaller
from orchestrator.extensions.mcp_server.mcp_lines import SESSION
from orchestrator.extensions.mcp_server.mcp_service import McpExchange, McpService
from orchestrator.extensions.mcp_server.mcp_settings import McpSettings
from orchestrator.extensions.mcp_server.protocol_eras import ROUTING, VERSION_HEADER, WITH_BATCHES
from orchestrator.extensions.mcp_server.rpc_messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    McpProblem,
    build_failure,
    find_request_id,
    list_batch,
    parse_message,
)
from orchestrator.web.app import BODY_TIMEOUT, MAX_BODY, read_body, run_on_body
from thinker.protocol.messages import JsonObject

KEEP_ALIVE_SECONDS = 15.0  # without news after which a stream sends a comment
SESSION_ID = re.compile(r"[\x21-\x7e]{1,128}")
EVENTS = "text/event-stream"
STATUS = {  # of errors of requests without handshake; others have 200
    PARSE_ERROR: HTTPStatus.BAD_REQUEST,
    INVALID_REQUEST: HTTPStatus.BAD_REQUEST,
    INVALID_PARAMS: HTTPStatus.BAD_REQUEST,
    HEADER_MISMATCH: HTTPStatus.BAD_REQUEST,
    UNSUPPORTED_VERSION: HTTPStatus.BAD_REQUEST,
    NO_METHOD: HTTPStatus.NOT_FOUND,
}


@dataclass(frozen=True)
class McpRoute:
    """The handler of the route. ``is_closing`` tells whether the daemon stops."""

    service: McpService
    is_closing: Callable[[], bool]

    async def answer_post(self, request: Request) -> Response:
        raw = await read_body(request, MAX_BODY, BODY_TIMEOUT)
        headers = request.headers
        try:
            _check_single(headers)
            value = await run_on_body(raw, parse_message, raw)
            allowed = headers.get(VERSION_HEADER, WITH_BATCHES[-1]) in WITH_BATCHES
            batch = list_batch(value, allowed=allowed)
            caller = self._build_caller(headers)
        except McpProblem as problem:
            return JSONResponse(build_failure(None, problem), HTTPStatus.BAD_REQUEST)
        reply = McpReply(self.service, headers)
        for item in batch:
            try:
                exchange = self.service.begin_exchange(item, caller, reply.add_message, headers)
            except McpProblem as problem:
                if not isinstance(value, list):
                    bad = build_failure(find_request_id(value), problem)
                    return JSONResponse(bad, HTTPStatus.BAD_REQUEST)
                reply.add_message(build_failure(find_request_id(item), problem))
                continue
            if exchange is not None:
                reply.exchanges.append(exchange)
        reply.batch = isinstance(value, list)
        return reply

    def _build_caller(self, headers: Headers) -> McpCaller:
        session, key = headers.get(SESSION, ""), headers.get("idempotency-key", "")
        for name, text in ((SESSION, session), ("Idempotency-Key", key)):
            if text and not SESSION_ID.fullmatch(text):
                raise McpProblem(INVALID_REQUEST, f"{name} has 1 to 128 visible ASCII characters")
        channels = self.service.tools.talk.daemon.configuration.file.channels
        role = channels.get_settings(McpSettings).http_role
        return McpCaller(role, session, key, self.is_closing)


class McpReply(Response):
    """The response to a message or a batch (an ASGI application)."""

    def __init__(self, service: McpService, headers: Headers) -> None:
        super().__init__()
        self.exchanges: list[McpExchange] = []
        self.batch = False
        self._service = service
        self._streams = _accepts_kind(headers, EVENTS)
        self._said: list[JsonObject] = []  # in order; of a stream, what was not sent yet
        self._changed = anyio.Event()
        self._done = False

    def add_message(self, message: JsonObject) -> None:
        """Add a message for the client; a client without events gets responses only."""
        if self._streams or "id" in message:
            self._said.append(message)
            self._signal_change()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer all requests; with events once there is news, or after a silence."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_disconnect, receive)
            tasks.start_soon(self._answer_all)
            if await self._wait_for_end_or_news():
                await self._build_whole_response()(scope, receive, send)
            else:
                await self._stream_messages(send)
            tasks.cancel_scope.cancel()

    async def _watch_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        for exchange in self.exchanges:
            exchange.on_disconnect()

    async def _answer_all(self) -> None:
        async with anyio.create_task_group() as tasks:
            for exchange in self.exchanges:
                tasks.start_soon(self._answer_exchange, exchange)
        self._done = True
        self._signal_change()

    async def _answer_exchange(self, exchange: McpExchange) -> None:
        response = await self._service.answer_exchange(exchange)
        if response is not None:
            self.add_message(response)

    async def _wait_for_end_or_news(self) -> bool:
        """Wait until all is done or there is news; return whether all is done without news."""
        with anyio.move_on_after(KEEP_ALIVE_SECONDS if self._streams else None):
            while not self._done and not any("method" in message for message in self._said):
                await self._changed.wait()
        return self._done and not any("method" in message for message in self._said)

    def _build_whole_response(self) -> Response:
        if not self._said:  # notifications, and what was cancelled
            return Response(status_code=HTTPStatus.ACCEPTED)
        if self.batch:
            return JSONResponse(self._said)
        (exchange,), (message,) = self.exchanges, self._said
        headers = {}
        if exchange.message.method == "initialize" and "result" in message:
            headers[SESSION] = self._service.fresh()
        return JSONResponse(message, _choose_status(exchange, message), headers)

    async def _stream_messages(self, send: Send) -> None:
        kind, kept = (b"content-type", EVENTS.encode()), (b"cache-control", b"no-cache")
        status = HTTPStatus.OK.value
        await send({"type": "http.response.start", "status": status, "headers": [kind, kept]})
        while self._said or not self._done:
            said, self._said = self._said, []
            body = b"".join(map(_encode_event, said)) or b": the agent is at work\n\n"
            await send({"type": "http.response.body", "body": body, "more_body": True})
            with anyio.move_on_after(KEEP_ALIVE_SECONDS):
                while not self._said and not self._done:
                    await self._changed.wait()
        await send({"type": "http.response.body", "body": b""})

    def _signal_change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _check_single(headers: Headers) -> None:
    """Refuse duplicate headers, which two readers may understand differently."""
    for name in ROUTING:
        if len(headers.getlist(name)) > 1:
            raise McpProblem(HEADER_MISMATCH, f"the header {name} is repeated")


def _accepts_kind(headers: Headers, kind: str) -> bool:
    """Return whether a client accepts responses of this kind."""
    wanted = ",".join(headers.getlist("accept")).lower()
    return kind in wanted or f"{kind.partition('/')[0]}/*" in wanted


def _choose_status(exchange: McpExchange, message: JsonObject) -> HTTPStatus:
    error = message.get("error")
    code = error.get("code") if isinstance(error, dict) and exchange.stateless else None
    return STATUS.get(code, HTTPStatus.OK) if isinstance(code, int) else HTTPStatus.OK


def _encode_event(message: JsonObject) -> bytes:
    return b"event: message\ndata: " + orjson.dumps(message) + b"\n\n"
