"""The endpoints of other extensions, on the port of the HTTP API."""

from collections.abc import Iterable
from functools import partial
from http import HTTPStatus
from typing import TypeAlias

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from orchestrator import extension
from orchestrator.errors import FAULTS, OrchestratorError
from orchestrator.web.error_response import ApiProblem

AddedRoute: TypeAlias = extension.Route
log = structlog.get_logger()


def build_added_routes(added: Iterable[AddedRoute]) -> list[Route]:
    """Return the routes of other extensions."""
    return [Route(one.path, partial(_answer_added, one), methods=[*one.methods]) for one in added]


async def _answer_added(route: AddedRoute, request: Request) -> Response:
    """Answer by another extension; what it raises is its own fault, and no end of the daemon."""
    try:
        return await route.handle(request)
    except (OrchestratorError, HTTPException, ClientDisconnect):
        raise
    except FAULTS as error:
        log.exception("endpoint_failed", extension=route.extension, path=request.url.path)
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        raise ApiProblem(status, "internal error; the daemon's log has the details") from error
