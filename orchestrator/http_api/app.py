"""The endpoints: what is asked becomes a request in the journal, what it comes to an answer."""

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from uuid import uuid4

import anyio
import orjson
import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from orchestrator.http_api.answers import Completion
from orchestrator.http_api.answers import Response as ResponseAnswer
from orchestrator.http_api.api_context import ApiContext
from orchestrator.http_api.error_response import ApiProblem, invalid
from orchestrator.http_api.guard import refusal
from orchestrator.http_api.pending import RETRY, Form, PendingResponse
from orchestrator.http_api.request_body import ParsedRequest, read_chat, read_responses
from orchestrator.journal.turns import pauses
from orchestrator.journal.turns.api_requests import NewRequest
from thinker.protocol.messages import MAX_DEPTH, JsonObject, too_deep

MAX_BODY = 8 * 1024 * 1024  # bytes; a frame to a worker has 16 MiB
MAX_KEY = 255  # characters of an Idempotency-Key
READ = 30.0  # seconds for a body to arrive
Reader = Callable[[JsonObject], ParsedRequest]
log = structlog.get_logger()


class Api:
    """The handlers of one daemon."""

    def __init__(self, parts: ApiContext) -> None:
        self._with = parts

    def app(self) -> Starlette:
        """All routes; every failure is in OpenAI's shape."""
        return Starlette(
            routes=[
                Route("/healthz", self.healthz),
                Route("/readyz", self.readyz),
                Route("/v1/models", self.models),
                Route("/v1/models/{name}", self.model),
                Route("/v1/chat/completions", self.chat, methods=["POST"]),
                Route("/v1/responses", self.responses, methods=["POST"]),
            ],
            exception_handlers={
                ApiProblem: _told,
                HTTPException: _no_route,
                ClientDisconnect: _gone,
                Exception: _broken,
            },
        )

    async def healthz(self, _: Request) -> Response:
        """Whoever gets it knows that the daemon is alive."""
        return JSONResponse({"status": "ok"})

    async def readyz(self, _: Request) -> Response:
        """Whether messages are heard, stored and answered."""
        report = await self._with.health()
        status = HTTPStatus.OK if report.ready else HTTPStatus.SERVICE_UNAVAILABLE
        return JSONResponse({"ready": report.ready, "reasons": list(report.reasons)}, status)

    async def models(self, _: Request) -> Response:
        """The agents that take requests now."""
        names = sorted(self._with.agents().usable())
        return JSONResponse({"object": "list", "data": [_model(name) for name in names]})

    async def model(self, request: Request) -> Response:
        """One of them."""
        return JSONResponse(_model(self._agent(str(request.path_params["name"]))))

    async def chat(self, request: Request) -> PendingResponse:
        """``POST /v1/chat/completions``."""
        return await self._ask(request, read_chat, Completion)

    async def responses(self, request: Request) -> PendingResponse:
        """``POST /v1/responses``."""
        return await self._ask(request, read_responses, ResponseAnswer)

    async def _ask(self, request: Request, read: Reader, form: Form) -> PendingResponse:
        raw = await _body(request)
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise invalid(None, f"the body is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise invalid(None, "the body must be a JSON object")
        if too_deep(body):
            raise invalid(None, f"the body is nested deeper than {MAX_DEPTH} levels")
        question = read(body)
        agent_id = self._agent(question.fields.model)
        self._open(agent_id)
        new = NewRequest(
            id=uuid4().hex,
            agent_id=agent_id,
            body=question.body,
            digest=hashlib.sha256(request.url.path.encode() + b"\0" + raw).hexdigest(),
            user=question.fields.user or "",
            idem_key=_key(request),
            previous_id=question.previous_id,
            conversation=question.conversation,
        )
        return PendingResponse(self._with, question, new, form)

    def _agent(self, name: str) -> str:
        if name not in self._with.agents().usable():
            told = f"there is no agent {name!r}; GET /v1/models lists those that there are"
            raise ApiProblem(HTTPStatus.NOT_FOUND, told, code="model_not_found", param="model")
        return name

    def _open(self, agent_id: str) -> None:
        """Whether a request can be taken now."""
        if not self._with.dispatcher.admitting:
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, "the daemon stops", retry=RETRY)
        pause = self._with.store.read(pauses.find, agent_id)
        if pause is not None:
            told = f"the agent is paused: {pause.reason}"
            raise ApiProblem(HTTPStatus.TOO_MANY_REQUESTS, told, code="agent_paused")


async def _body(request: Request) -> bytes:
    """The body, bounded in size and time.

    Raises:
        Problem: it is too large, or does not come.
    """
    body = bytearray()
    try:
        with anyio.fail_after(READ):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY:
                    told = f"the body has more than {MAX_BODY} bytes"
                    raise ApiProblem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, told)
    except TimeoutError:
        raise ApiProblem(HTTPStatus.REQUEST_TIMEOUT, "the body did not come") from None
    return bytes(body)


def _key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        raise invalid("Idempotency-Key", f"1 to {MAX_KEY} printable ASCII characters")
    return key


def _model(name: str) -> JsonObject:
    return {"id": name, "object": "model", "created": 0, "owned_by": "orchestrator"}


async def _told(request: Request, error: Exception) -> Response:
    del request
    problem = error if isinstance(error, ApiProblem) else invalid(None, str(error))
    return refusal(problem)


async def _no_route(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
    told = f"there is no {request.method} {request.url.path}"
    return refusal(ApiProblem(HTTPStatus(status), told))


async def _gone(request: Request, error: Exception) -> Response:
    del request, error
    return Response(status_code=HTTPStatus.BAD_REQUEST)  # nobody reads it


async def _broken(request: Request, error: Exception) -> Response:
    log.error("request_broke", path=request.url.path, exc_info=error)
    told = "something went wrong; the operator's log says what"
    return refusal(ApiProblem(HTTPStatus.INTERNAL_SERVER_ERROR, told))
