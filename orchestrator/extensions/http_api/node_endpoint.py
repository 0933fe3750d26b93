"""``POST /nodes/calls``: requests of operators that another node has passed on."""

from http import HTTPStatus

import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from orchestrator.errors import OrchestratorError
from orchestrator.extension import DaemonView
from orchestrator.extensions.http_api.concerned_agents import find_concerned_agent
from orchestrator.extensions.http_api.node_link import FROM_NODE, UNPLACED, NodeCall, passed_on
from orchestrator.web.app import BODY_TIMEOUT, read_body
from orchestrator.web.error_response import ApiProblem, make_invalid_problem
from thinker.protocol.peer import (
    FAILED,
    INVALID_PARAMS,
    MAX_FRAME,
    NO_METHOD,
    Params,
    RpcError,
)


async def answer_node_call(daemon: DaemonView, request: Request) -> Response:
    """Run a control method, for an agent of this node alone."""
    if FROM_NODE not in request.scope:
        raise ApiProblem(HTTPStatus.FORBIDDEN, "only nodes of this journal may ask for this")
    raw = await read_body(request, MAX_FRAME, BODY_TIMEOUT)
    try:
        call = NodeCall.model_validate_json(raw)
    except ValidationError as error:
        raise make_invalid_problem(None, str(error)) from error
    try:
        return _build_response({"result": await _run_method(daemon, call)})
    except RpcError as error:
        return _build_response({"error": {"code": error.code, "message": str(error)}})


async def _run_method(daemon: DaemonView, call: NodeCall) -> Params:
    agent_id = await daemon.store.read(find_concerned_agent, call.method, call.params)
    handler = daemon.control.build_methods_for(call.by).get(call.method)
    if handler is None:
        raise RpcError(NO_METHOD, f"no method {call.method!r}; do all nodes run one version?")
    if agent_id is None or not daemon.placement.owns(agent_id):
        raise RpcError(FAILED, UNPLACED.format(agent=agent_id))
    token = passed_on.set(True)
    try:
        return await handler(call.params)
    except ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"{call.method}: {error}") from error
    except OrchestratorError as error:
        raise RpcError(FAILED, str(error)) from error
    finally:
        passed_on.reset(token)


def _build_response(found: dict[str, Params]) -> Response:
    return Response(orjson.dumps(found, default=_dump_model), media_type="application/json")


def _dump_model(value: object) -> orjson.Fragment:
    if not isinstance(value, BaseModel):
        raise TypeError(f"not JSON: {type(value).__name__}")
    return orjson.Fragment(value.model_dump_json())
