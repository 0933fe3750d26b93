"""Endpoints for the clients of OpenAI and Anthropic.

Each call is stored as a request in the journal; its outcome becomes the response.

Where: is a request of the HTTP API received?
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from itertools import chain
from uuid import uuid4

from pydantic import JsonValue
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from orchestrator.control.operations import DaemonOperations
from orchestrator.control.status_reports import report_health
from orchestrator.document_text import ReadDocument
from orchestrator.extensions.http_api.added_routes import AddedRoute, build_added_routes
from orchestrator.extensions.http_api.api_channel import ApiChannel
from orchestrator.extensions.http_api.api_dialects import DIALECTS, ApiDialect
from orchestrator.extensions.http_api.conversation_endpoints import ConversationEndpoints
from orchestrator.extensions.http_api.embedding_requests import embed_texts, parse_embeddings_body
from orchestrator.extensions.http_api.file_parts import parse_body_with_files, read_files
from orchestrator.extensions.http_api.guard import CLOSED, AllowedOrigins, Guard
from orchestrator.extensions.http_api.new_requests import NewRequest
from orchestrator.extensions.http_api.node_link import NodeLink
from orchestrator.extensions.http_api.parsed_request import MAX_USER
from orchestrator.extensions.http_api.pending_response import PendingResponse
from orchestrator.extensions.http_api.token import TokenFile
from orchestrator.extensions.http_api.unsupported_requests import build_unsupported_routes
from orchestrator.web.app import (
    BODY_TIMEOUT,
    MAX_BODY,
    build_app,
    read_body,
    run_on_body,
)
from orchestrator.web.error_response import ApiProblem, make_invalid_problem
from orchestrator.web.refusal import REQUEST_ID, Refusal
from thinker.protocol.messages import JsonObject

EPOCH = "1970-01-01T00:00:00Z"  # when an agent was made is not known
METHODS = ("GET", "POST", "DELETE")
PERSON = "x-openwebui-user-id"  # the end user, if one program serves several
MAX_KEY = 255  # characters of an Idempotency-Key


@dataclass(frozen=True)
class Endpoints:
    """The handlers of one daemon; ``added`` are the routes of other extensions.

    ``document_text`` extracts the text of a file.
    """

    daemon: DaemonOperations
    channel: ApiChannel
    document_text: ReadDocument
    nodes: NodeLink
    added: Sequence[AddedRoute] = ()

    def build_application(self, token: TokenFile, doors: AllowedOrigins = CLOSED) -> ASGIApp:
        """Return the application of all routes, for clients that hold the token."""
        routes = [
            Route(path, partial(self._create_response, dialect), methods=["POST"])
            for path, dialect in DIALECTS.items()
        ]
        routes += [
            Route("/healthz", self.answer_healthz),
            Route("/readyz", self.answer_readyz),
            Route("/v1/models", self.list_models),
            Route("/v1/models/{name}", self.show_model),
            *build_unsupported_routes(),
            *ConversationEndpoints(self.daemon, self.document_text).build_routes(),
            Route("/v1/embeddings", self.create_embeddings, methods=["POST"]),
        ]
        routes += build_added_routes(self.added)
        guarded = Guard(
            build_app(routes, Refusal),
            token,
            doors=doors,
            routes=self.added,
            is_node=self.nodes.accepts_key,
        )
        if not doors.origins:
            return guarded
        return CORSMiddleware(
            guarded,
            allow_origins=doors.origins,
            allow_methods=METHODS,
            allow_headers=["*"],
            expose_headers=[
                *REQUEST_ID,
                *chain.from_iterable(one.exposed_headers for one in self.added),
            ],
        )

    async def answer_healthz(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def answer_readyz(self, _: Request) -> Response:
        report = await report_health(self.daemon)
        status = HTTPStatus.OK if report.ready else HTTPStatus.SERVICE_UNAVAILABLE
        return JSONResponse({"ready": report.ready, "reasons": list(report.reasons)}, status)

    async def list_models(self, _: Request) -> Response:
        names = sorted(self.daemon.configuration.file.list_enabled_ids())
        ends: JsonObject = {"first_id": names[0], "last_id": names[-1]} if names else {}
        data: list[JsonValue] = [_build_model(name) for name in names]
        return JSONResponse({"object": "list", "data": data, "has_more": False, **ends})

    async def show_model(self, request: Request) -> Response:
        return JSONResponse(_build_model(self._require_agent(str(request.path_params["name"]))))

    async def create_embeddings(self, request: Request) -> ASGIApp:
        """Return the vectors of strings, from the embeddings model of an agent."""
        raw = await read_body(request, MAX_BODY, BODY_TIMEOUT)
        fields = await run_on_body(raw, parse_embeddings_body, raw)
        passed = await self.nodes.pass_on(fields.model, request, raw)
        if passed is not None:
            return passed
        daemon = self.daemon
        definition = daemon.configuration.file.find_agent(self._require_agent(fields.model))
        if definition is None:
            raise AssertionError(fields.model)
        found = await embed_texts(daemon, definition, fields)
        return Response(found, media_type="application/json")

    async def _create_response(self, dialect: ApiDialect, request: Request) -> ASGIApp:
        raw = await read_body(request, MAX_BODY, BODY_TIMEOUT)
        body, files = await run_on_body(raw, parse_body_with_files, raw)
        passed = await self.nodes.pass_on(body.get("model"), request, raw)
        if passed is not None:
            return passed
        await read_files(files, self.document_text)
        parsed = await run_on_body(raw, dialect.parse, body)
        agent_id = self._require_agent(parsed.fields.model)
        new = NewRequest(
            id=uuid4().hex,
            agent_id=agent_id,
            body=parsed.body,
            digest=hashlib.sha256(request.url.path.encode() + b"\0" + raw).hexdigest(),
            user=parsed.fields.user or request.headers.get(PERSON, "")[:MAX_USER],
            idem_key=_parse_idempotency_key(request),
            previous_id=parsed.previous_id,
            conversation=parsed.conversation,
        )
        return PendingResponse(self.daemon, self.channel, parsed, new, dialect.formatter)

    def _require_agent(self, name: str) -> str:
        if name not in self.daemon.configuration.file.list_enabled_ids():
            message = f"unknown agent {name!r}; GET /v1/models lists the agents"
            raise ApiProblem(HTTPStatus.NOT_FOUND, message, code="model_not_found", param="model")
        return name


def _parse_idempotency_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        message = f"an Idempotency-Key has 1 to {MAX_KEY} printable ASCII characters"
        raise make_invalid_problem("Idempotency-Key", message)
    return key


def _build_model(name: str) -> JsonObject:
    """Build an agent as a model, with the fields for OpenAI's and Anthropic's clients."""
    openai: JsonObject = {"object": "model", "created": 0, "owned_by": "orchestrator"}
    anthropic: JsonObject = {"type": "model", "display_name": name, "created_at": EPOCH}
    return {"id": name, **openai, **anthropic}
