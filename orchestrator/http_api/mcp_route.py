"""``/mcp``: the MCP server by streamable HTTP.

A response is JSON, unless something is to be told before it, or it takes long: then it is a stream
of events. The id of a session is given to each client, so that a request can be canceled and is
known when it is repeated; nothing is kept for it.
"""

import re
from dataclasses import dataclass
from http import HTTPStatus

import anyio
import orjson
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from orchestrator.http_api.api_channel import ApiChannel
from orchestrator.http_api.app import BODY_TIMEOUT, MAX_BODY, read_body, work_on
from orchestrator.mcp_server.mcp_caller import McpCaller
from orchestrator.mcp_server.mcp_service import McpExchange, McpService
from orchestrator.mcp_server.protocol_eras import ROUTING, VERSION_HEADER, WITH_BATCHES
from orchestrator.mcp_server.rpc_messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    McpProblem,
    batch_of,
    failure,
    parse,
    request_id,
)
from thinker.protocol.messages import JsonObject

KEEP_ALIVE = 15.0  # seconds without news after which a stream sends a comment
SESSION = "mcp-session-id"
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
    """The handler of the route."""

    service: McpService
    channel: ApiChannel

    async def post(self, request: Request) -> Response:
        raw = await read_body(request, MAX_BODY, BODY_TIMEOUT)
        headers = request.headers
        try:
            _check_single(headers)
            value = await work_on(raw, parse, raw)
            allowed = headers.get(VERSION_HEADER, WITH_BATCHES[-1]) in WITH_BATCHES
            batch = batch_of(value, allowed=allowed)
            caller = self._caller(headers)
        except McpProblem as problem:
            return JSONResponse(failure(None, problem), HTTPStatus.BAD_REQUEST)
        reply = McpReply(self.service, headers)
        for item in batch:
            try:
                exchange = self.service.begin(item, caller, reply.put, headers)
            except McpProblem as problem:
                if not isinstance(value, list):
                    bad = failure(request_id(value), problem)
                    return JSONResponse(bad, HTTPStatus.BAD_REQUEST)
                reply.put(failure(request_id(item), problem))
                continue
            if exchange is not None:
                reply.exchanges.append(exchange)
        reply.batch = isinstance(value, list)
        return reply

    def _caller(self, headers: Headers) -> McpCaller:
        session, key = headers.get(SESSION, ""), headers.get("idempotency-key", "")
        for name, text in ((SESSION, session), ("Idempotency-Key", key)):
            if text and not SESSION_ID.fullmatch(text):
                raise McpProblem(INVALID_REQUEST, f"{name} has 1 to 128 visible ASCII characters")
        role = self.service.tools.talk.daemon.configuration.file.channels.mcp.http_role
        return McpCaller(role, session, key, lambda: self.channel.closing)


class McpReply(Response):
    """The response to a message, or to the messages of a batch (an ASGI application)."""

    def __init__(self, service: McpService, headers: Headers) -> None:
        super().__init__()
        self.exchanges: list[McpExchange] = []
        self.batch = False
        self._service = service
        self._streams = _accepts(headers, EVENTS)
        self._said: list[JsonObject] = []  # in order; of a stream, what was not sent yet
        self._changed = anyio.Event()
        self._done = False

    def put(self, message: JsonObject) -> None:
        """Take a message for the client; one that takes no events gets responses alone."""
        if self._streams or "id" in message:
            self._said.append(message)
            self._change()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer all requests; with events as soon as there is news, or none for too long."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._leave, receive)
            tasks.start_soon(self._work)
            if await self._ends_soon():
                await self._whole()(scope, receive, send)
            else:
                await self._stream(send)
            tasks.cancel_scope.cancel()

    async def _leave(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        for exchange in self.exchanges:
            exchange.leave()

    async def _work(self) -> None:
        async with anyio.create_task_group() as tasks:
            for exchange in self.exchanges:
                tasks.start_soon(self._answer, exchange)
        self._done = True
        self._change()

    async def _answer(self, exchange: McpExchange) -> None:
        response = await self._service.answer(exchange)
        if response is not None:
            self.put(response)

    async def _ends_soon(self) -> bool:
        """Wait until all is done, or something is to be told before that."""
        with anyio.move_on_after(KEEP_ALIVE if self._streams else None):
            while not self._done and not any("method" in message for message in self._said):
                await self._changed.wait()
        return self._done and not any("method" in message for message in self._said)

    def _whole(self) -> Response:
        if not self._said:  # notifications, and what was canceled
            return Response(status_code=HTTPStatus.ACCEPTED)
        if self.batch:
            return JSONResponse(self._said)
        (exchange,), (message,) = self.exchanges, self._said
        headers = {}
        if exchange.message.method == "initialize" and "result" in message:
            headers[SESSION] = self._service.fresh()
        return JSONResponse(message, _status(exchange, message), headers)

    async def _stream(self, send: Send) -> None:
        kind, kept = (b"content-type", EVENTS.encode()), (b"cache-control", b"no-cache")
        status = HTTPStatus.OK.value
        await send({"type": "http.response.start", "status": status, "headers": [kind, kept]})
        while self._said or not self._done:
            said, self._said = self._said, []
            body = b"".join(map(_event, said)) or b": the agent is at work\n\n"
            await send({"type": "http.response.body", "body": body, "more_body": True})
            with anyio.move_on_after(KEEP_ALIVE):
                while not self._said and not self._done:
                    await self._changed.wait()
        await send({"type": "http.response.body", "body": b""})

    def _change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _check_single(headers: Headers) -> None:
    """Refuse headers that two readers may understand in two ways."""
    for name in ROUTING:
        if len(headers.getlist(name)) > 1:
            raise McpProblem(HEADER_MISMATCH, f"the header {name} is there twice")


def _accepts(headers: Headers, kind: str) -> bool:
    """Return whether a client takes responses of this kind."""
    wanted = ",".join(headers.getlist("accept")).lower()
    return kind in wanted or f"{kind.partition('/')[0]}/*" in wanted


def _status(exchange: McpExchange, message: JsonObject) -> HTTPStatus:
    error = message.get("error")
    code = error.get("code") if isinstance(error, dict) and exchange.stateless else None
    return STATUS.get(code, HTTPStatus.OK) if isinstance(code, int) else HTTPStatus.OK


def _event(message: JsonObject) -> bytes:
    return b"event: message\ndata: " + orjson.dumps(message) + b"\n\n"
