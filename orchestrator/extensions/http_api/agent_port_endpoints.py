"""The endpoints of one agent's port: ``GET /health`` and ``POST /process-message``."""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus

import anyio
from pydantic import ValidationError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from orchestrator.extensions.http_api.agent_port_messages import AgentPortAnswer, AgentPortMessage
from orchestrator.extensions.http_api.guard import is_local
from orchestrator.extensions.http_api.local_port import bind_port
from orchestrator.web.app import build_app, read_body
from orchestrator.web.error_response import ApiProblem
from orchestrator.web.http_server import serve_app
from orchestrator.web.request_limits import WrongTokens
from thinker.formats.regular_file import FileError

MAX_BODY = 4 * 1024 * 1024  # bytes
BODY_TIMEOUT = 10.0  # seconds for a body to arrive
MAX_REQUESTS = 100  # concurrent requests of one agent with the token; further ones wait
CLOSE = (("connection", "close"),)  # a client that waits for minutes keeps no connection
Answerer = Callable[[AgentPortMessage], Awaitable[AgentPortAnswer | None]]


class AgentPortApi:
    """The application of one agent's port.

    ``token`` returns the clients' token; ``answer`` returns None if no answer comes in time.
    """

    def __init__(
        self, agent_id: str, token: Callable[[], Awaitable[str]], answer: Answerer
    ) -> None:
        self._agent_id = agent_id
        self._token = token
        self._answer = answer
        self._wrong = WrongTokens()
        self._requests = anyio.Semaphore(MAX_REQUESTS)
        self._waiting: set[anyio.CancelScope] = set()
        routes = [
            Route("/health", self.answer_health),
            Route("/process-message", self.process_message, methods=["POST"]),
        ]
        self._app = build_app(routes, _build_refusal)

    @asynccontextmanager
    async def serve_on_port(self, port: int) -> AsyncIterator[int]:
        """Serve on a port of 127.0.0.1, 0 for a free one, and yield its number.

        When the block ends, clients that wait get status 202.

        Raises:
            OSError: the port is taken.
        """
        with bind_port(port) as listener:
            async with serve_app(listener, self, headers=CLOSE):
                try:
                    yield listener.getsockname()[1]
                finally:
                    for scope in self._waiting:
                        scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = await self._check_request(Headers(scope=scope))
        if problem is not None:
            await _build_refusal(problem)(scope, receive, send)
            return
        async with self._requests:
            await self._app(scope, receive, send)

    async def answer_health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok", "agentId": self._agent_id})

    async def process_message(self, request: Request) -> Response:
        try:
            message = AgentPortMessage.model_validate_json(
                await read_body(request, MAX_BODY, BODY_TIMEOUT)
            )
        except ValidationError as error:
            detail = error.errors(include_url=False)[0]
            place = ".".join(map(str, detail["loc"])) or "body"
            raise ApiProblem(HTTPStatus.BAD_REQUEST, f"{place}: {detail['msg']}") from error
        answer: AgentPortAnswer | None = None
        with anyio.CancelScope() as scope:
            self._waiting.add(scope)
            try:
                answer = await self._answer(message)
            finally:
                self._waiting.discard(scope)
        if answer is None:
            pending = "not answered yet; send the same id again to get the answer"
            return _build_json_response(
                AgentPortAnswer(success=False, error=pending), HTTPStatus.ACCEPTED
            )
        return _build_json_response(answer)

    async def _check_request(self, headers: Headers) -> ApiProblem | None:
        if not is_local(headers) or "origin" in headers:
            return ApiProblem(HTTPStatus.FORBIDDEN, "only programs on this machine may connect")
        authorization = headers.get("authorization", "").encode()
        try:
            expected = f"Bearer {await self._token()}".encode()
        except (FileError, OSError) as error:
            return ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, f"the token cannot be read: {error}")
        if not secrets.compare_digest(authorization, expected):
            return self._wrong.count_wrong_token() or ApiProblem(
                HTTPStatus.UNAUTHORIZED, "send the token of <home>/http-token as Bearer token"
            )
        return None


def _build_refusal(problem: ApiProblem) -> Response:
    return _build_json_response(AgentPortAnswer(success=False, error=str(problem)), problem.status)


def _build_json_response(body: AgentPortAnswer, status: HTTPStatus = HTTPStatus.OK) -> Response:
    content = body.model_dump_json(by_alias=True, exclude_none=True)
    return Response(content, status, media_type="application/json")
