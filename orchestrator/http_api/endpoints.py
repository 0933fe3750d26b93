"""Endpoints for the clients of OpenAI and Anthropic.

Each call is stored as a request in the journal; its outcome becomes the response.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from uuid import uuid4

from pydantic import JsonValue
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from orchestrator.control.operations import DaemonOperations
from orchestrator.documents.document_text import ReadDocument
from orchestrator.http_api import stored_responses
from orchestrator.http_api.anthropic_formatter import MessagesFormatter
from orchestrator.http_api.api_channel import ApiChannel
from orchestrator.http_api.app import (
    BODY_TIMEOUT,
    MAX_BODY,
    build_app,
    json_object,
    read_body,
    work_on,
)
from orchestrator.http_api.conversation_endpoints import ConversationEndpoints
from orchestrator.http_api.embedding_requests import (
    EmbeddingsFields,
    embedded,
    parse_embeddings,
)
from orchestrator.http_api.error_response import ApiProblem, invalid
from orchestrator.http_api.extra_pages import ExtraPages
from orchestrator.http_api.file_parts import FilePart, files_of, read_files
from orchestrator.http_api.guard import CLOSED, TELEGRAM, Doors, Guard
from orchestrator.http_api.hook_endpoint import HookEndpoint
from orchestrator.http_api.mcp_route import SESSION, McpRoute
from orchestrator.http_api.parsed_request import (
    MAX_USER,
    ParsedRequest,
    parse_chat,
    parse_messages,
    parse_responses,
)
from orchestrator.http_api.pending_response import FormatterFactory, PendingResponse
from orchestrator.http_api.refusal import MCP, REQUEST_ID, Refusal
from orchestrator.http_api.response_formatters import ChatFormatter, ResponsesFormatter
from orchestrator.http_api.telegram_endpoint import TelegramEndpoint
from orchestrator.http_api.token import TokenFile
from orchestrator.http_api.unsupported_requests import unsupported_routes
from orchestrator.journal.turns import api_requests
from orchestrator.journal.turns.api_requests import NewRequest
from orchestrator.mcp_server.mcp_service import McpService
from orchestrator.spending.metered_calls import MeteredCalls
from thinker.protocol.messages import JsonObject

EPOCH = "1970-01-01T00:00:00Z"  # when an agent was made is not known
METHODS = ("GET", "POST", "DELETE")
PERSON = "x-openwebui-user-id"  # who asks, of those whom one program serves
MAX_KEY = 255  # characters of an Idempotency-Key
Parser = Callable[[JsonObject], ParsedRequest]


@dataclass(frozen=True)
class Endpoints:
    """The handlers of one daemon; ``pages`` and ``mcp`` are served beside them.

    ``document_text`` finds the text of a file.
    """

    daemon: DaemonOperations
    channel: ApiChannel
    pages: ExtraPages
    document_text: ReadDocument
    mcp: McpService

    def app(self, token: TokenFile, doors: Doors = CLOSED) -> ASGIApp:
        """Return the application of all routes, for clients that hold the token."""
        chat = partial(self._respond, parse_chat, ChatFormatter)
        responses = partial(self._respond, parse_responses, ResponsesFormatter)
        messages = partial(self._respond, parse_messages, MessagesFormatter)
        routes = [
            Route("/healthz", self.healthz),
            Route("/readyz", self.readyz),
            Route("/v1/models", self.models),
            Route("/v1/models/{name}", self.model),
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/responses", responses, methods=["POST"]),
            *unsupported_routes(),
            *ConversationEndpoints(self.daemon, self.document_text).routes(),
            Route("/v1/responses/{name}", self.stored, methods=["GET", "DELETE"]),
            Route("/v1/responses/{name}/input_items", self.inputs),
            Route("/v1/messages", messages, methods=["POST"]),
            Route("/v1/embeddings", self.embeddings, methods=["POST"]),
            Route(MCP, McpRoute(self.mcp, self.channel).post, methods=["POST"]),
            Route("/hooks/{name}", HookEndpoint(self.daemon).take, methods=["POST"]),
            Route(TELEGRAM, TelegramEndpoint(self.daemon).take, methods=["POST"]),
            *(Route(path, partial(self._page, path)) for path in self.pages),
        ]
        guarded = Guard(build_app(routes, Refusal), token, doors=doors)
        if not doors.origins:
            return guarded
        return CORSMiddleware(
            guarded,
            allow_origins=doors.origins,
            allow_methods=METHODS,
            allow_headers=["*"],
            expose_headers=[*REQUEST_ID, SESSION],
        )

    async def healthz(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(self, _: Request) -> Response:
        report = await self.daemon.health()
        status = HTTPStatus.OK if report.ready else HTTPStatus.SERVICE_UNAVAILABLE
        return JSONResponse({"ready": report.ready, "reasons": list(report.reasons)}, status)

    async def models(self, _: Request) -> Response:
        names = sorted(self.daemon.configuration.file.usable())
        ends: JsonObject = {"first_id": names[0], "last_id": names[-1]} if names else {}
        data: list[JsonValue] = [_model(name) for name in names]
        return JSONResponse({"object": "list", "data": data, "has_more": False, **ends})

    async def model(self, request: Request) -> Response:
        return JSONResponse(_model(self._agent(str(request.path_params["name"]))))

    async def stored(self, request: Request) -> Response:
        """Return a response again, or let no request read or continue it any more."""
        name = str(request.path_params["name"])
        found = await self.daemon.store.read(stored_responses.find, name)
        if request.method != "DELETE":
            return JSONResponse(stored_responses.document(found))
        await self.daemon.store.transact(api_requests.disown, found.id)
        return JSONResponse({"id": name, "object": "response", "deleted": True})

    async def inputs(self, request: Request) -> Response:
        name = str(request.path_params["name"])
        found = await self.daemon.store.read(stored_responses.find, name)
        return JSONResponse(stored_responses.input_items(found, dict(request.query_params)))

    async def embeddings(self, request: Request) -> Response:
        """Return the vectors of texts, by the embeddings model of an agent."""
        raw = await read_body(request, MAX_BODY, BODY_TIMEOUT)
        fields = await work_on(raw, _embeddings_fields, raw)
        daemon = self.daemon
        definition = daemon.configuration.file.agent(self._agent(fields.model))
        calls = MeteredCalls(daemon.store, daemon.supervisor, daemon.guard)
        if definition is None:
            raise AssertionError(fields.model)
        found = await embedded(calls, definition, fields)
        return Response(found, media_type="application/json")

    async def _page(self, path: str, _: Request) -> Response:
        media_type, body = await self.pages[path]()
        return Response(body, media_type=media_type)

    async def _respond(
        self, parse: Parser, formatter: FormatterFactory, request: Request
    ) -> PendingResponse:
        raw = await read_body(request, MAX_BODY, BODY_TIMEOUT)
        body, files = await work_on(raw, _with_files, raw)
        await read_files(files, self.document_text)
        parsed = await work_on(raw, parse, body)
        agent_id = self._agent(parsed.fields.model)
        new = NewRequest(
            id=uuid4().hex,
            agent_id=agent_id,
            body=parsed.body,
            digest=hashlib.sha256(request.url.path.encode() + b"\0" + raw).hexdigest(),
            user=parsed.fields.user or request.headers.get(PERSON, "")[:MAX_USER],
            idem_key=_idempotency_key(request),
            previous_id=parsed.previous_id,
            conversation=parsed.conversation,
        )
        return PendingResponse(self.daemon, self.channel, parsed, new, formatter)

    def _agent(self, name: str) -> str:
        if name not in self.daemon.configuration.file.usable():
            message = f"there is no agent {name!r}; GET /v1/models lists the agents"
            raise ApiProblem(HTTPStatus.NOT_FOUND, message, code="model_not_found", param="model")
        return name


def _with_files(raw: bytes) -> tuple[JsonObject, list[FilePart]]:
    body = json_object(raw)
    return body, files_of(body)


def _embeddings_fields(raw: bytes) -> EmbeddingsFields:
    return parse_embeddings(json_object(raw))


def _idempotency_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        message = f"an Idempotency-Key has 1 to {MAX_KEY} printable ASCII characters"
        raise invalid("Idempotency-Key", message)
    return key


def _model(name: str) -> JsonObject:
    """Return an agent as a model, with the fields of OpenAI's and of Anthropic's clients."""
    openai: JsonObject = {"object": "model", "created": 0, "owned_by": "orchestrator"}
    anthropic: JsonObject = {"type": "model", "display_name": name, "created_at": EPOCH}
    return {"id": name, **openai, **anthropic}
