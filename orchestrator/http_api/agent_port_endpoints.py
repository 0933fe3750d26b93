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

from orchestrator.http_api.agent_port_messages import AgentPortAnswer, AgentPortMessage
from orchestrator.http_api.app import build_app, read_body
from orchestrator.http_api.error_response import ApiProblem
from orchestrator.http_api.guard import WrongTokens, is_local
from orchestrator.http_api.http_server import served
from orchestrator.http_api.local_port import listen
from thinker.formats.regular_file import FileError

MAX_BODY = 4 * 1024 * 1024  # bytes
BODY_TIMEOUT = 10.0  # seconds for a body to arrive
MAX_REQUESTS = 100  # of one agent with the token at a time; further ones wait
CLOSE = (("connection", "close"),)  # a client that waits for minutes keeps no connection
Answerer = Callable[[AgentPortMessage], Awaitable[AgentPortAnswer | None]]


class AgentPortApi:
    """The application of one agent's port.

    ``token`` returns the token that clients send; ``answer`` returns None when there is no answer
    in time.
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
            Route("/health", self.health),
            Route("/process-message", self.process_message, methods=["POST"]),
        ]
        self._app = build_app(routes, _refusal)

    @asynccontextmanager
    async def served(self, port: int) -> AsyncIterator[int]:
        """Serve on a port of 127.0.0.1, 0 for a free one, and yield its number.

        When the block ends, clients that wait get status 202.

        Raises:
            OSError: the port is taken.
        """
        with listen(port) as listener:
            async with served(listener, self, headers=CLOSE):
                try:
                    yield listener.getsockname()[1]
                finally:
                    for scope in self._waiting:
                        scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = await self._problem(Headers(scope=scope))
        if problem is not None:
            await _refusal(problem)(scope, receive, send)
            return
        async with self._requests:
            await self._app(scope, receive, send)

    async def health(self, _: Request) -> Response:
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
            return _json(AgentPortAnswer(success=False, error=pending), HTTPStatus.ACCEPTED)
        return _json(answer)

    async def _problem(self, headers: Headers) -> ApiProblem | None:
        if not is_local(headers) or "origin" in headers:
            return ApiProblem(HTTPStatus.FORBIDDEN, "only programs on this machine may connect")
        authorization = headers.get("authorization", "").encode()
        try:
            expected = f"Bearer {await self._token()}".encode()
        except (FileError, OSError) as error:
            return ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, f"no token is known: {error}")
        if not secrets.compare_digest(authorization, expected):
            return self._wrong.too_many() or ApiProblem(
                HTTPStatus.UNAUTHORIZED, "send the token of <home>/http-token as Bearer token"
            )
        return None


def _refusal(problem: ApiProblem) -> Response:
    return _json(AgentPortAnswer(success=False, error=str(problem)), problem.status)


def _json(body: AgentPortAnswer, status: HTTPStatus = HTTPStatus.OK) -> Response:
    content = body.model_dump_json(by_alias=True, exclude_none=True)
    return Response(content, status, media_type="application/json")
