"""Pass requests on to the node of the journal that works for their agent.

What people and programs may do is decided by the node that they ask; a node trusts the others,
which prove by a key of the journal that they are. A request is passed on once: a node that is asked
by another one answers by itself.

Where: is a request passed on to the node of its agent?
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

import anyio
import orjson
import structlog
from pydantic import BaseModel, JsonValue

from orchestrator.extension import DaemonView
from orchestrator.extensions.http_api.concerned_agents import (
    find_concerned_agent,
    may_concern_agent,
)
from orchestrator.extensions.http_api.node_keys import load_node_key
from orchestrator.extensions.http_api.relayed_response import RelayedResponse, wait_for_disconnect
from orchestrator.placement import Node
from orchestrator.web.error_response import ApiProblem
from thinker.http.exchange import ConnectError, HttpAnswer, HttpError, Network
from thinker.protocol.peer import FAILED, MAX_FRAME, Params, RequestHandler, RpcError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

CALLS = "/nodes/calls"  # the endpoint for `NodeCall`
FROM_NODE = "orchestrator.node"  # in a scope: another node has passed the request on
SENT_HEADERS = (  # of a client
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "content-type",
    "idempotency-key",
    "user-agent",
    "x-openwebui-user-id",
)
CONNECT_SECONDS = 3.0  # to open a connection to another node
CALL_SECONDS = 50.0  # for the answer to an operator; commands wait for a minute
ANSWER_SECONDS = 3660.0  # without data from a node; a request waits for an hour
RETRY_SECONDS = 5  # after which a client repeats a request; by then another node has the agent
LOOK_SECONDS = 1.0  # between two looks whether the node still has the agent
UNPLACED = "no node works for agent {agent!r} now; try again in a few seconds"
UNREACHABLE = (
    "agent {agent!r} is at the node {node}, which cannot be reached ({why}); run the command there,"
    " or set ORCHESTRATOR_NODE_URL there to its address"
)
UNANSWERED = (
    "the node {node}, where agent {agent!r} is, gave no answer ({why}); it may have done this all"
    " the same: look before you repeat it"
)
MOVED = (
    "agent {agent!r} is moving to another node; repeat the request, with its Idempotency-Key for"
    " the same answer"
)
passed_on: ContextVar[bool] = ContextVar("passed_on", default=False)
log = structlog.get_logger()


class NodeCall(BaseModel):
    """A request of an operator, or of the person ``by``, for the control methods of a node."""

    method: str
    params: JsonValue = None
    by: str


class NodeLink:
    """The way to the other nodes, which serve `CALLS` and the endpoints on the API's port."""

    def __init__(self, daemon: DaemonView, network: Network | None = None) -> None:
        self._daemon = daemon
        self._network = network
        self._key = ""  # of the journal; none if no other node can reach this one

    async def open(self) -> None:
        """Load the key, before a request comes: strangers must not make the journal work.

        Raises:
            JournalError: the journal cannot be used.
        """
        if self._daemon.store.is_shared and self._daemon.settings.node_url:
            fresh = self._daemon.machine.random_bytes(32).hex()
            self._key = await self._daemon.store.transact(load_node_key, fresh)

    def close(self) -> None:
        """Close the connections."""
        if self._network is not None:
            self._network.close()

    def accepts_key(self, authorization: str) -> bool:
        """Return whether another node of this journal sent the header of a request."""
        scheme, _, key = authorization.partition(" ")
        if not self._key or scheme.lower() != "bearer":
            return False
        return secrets.compare_digest(key.encode(), self._key.encode())

    # --- requests of programs --------------------------------------------------------------------

    async def pass_on(
        self, agent_id: JsonValue, request: "Request", body: bytes
    ) -> "ASGIApp | None":
        """Return the answer of the agent's node, an ASGI application.

        None if this node is to answer: it has the agent, or the other one cannot be reached. Then
        it stores the request and waits for the answer to be stored, without its beginnings.

        Raises:
            ApiProblem: the other node has the request, and is gone.
        """
        node = self._find_node(agent_id) if isinstance(agent_id, str) else None
        if node is None or not node.url or FROM_NODE in request.scope:
            return None
        moved = partial(self._wait_until_moved, str(agent_id), node)
        headers = {name: request.headers[name] for name in SENT_HEADERS if name in request.headers}
        asked = partial(self._send, node, request.method, request.url.path, headers, body)
        try:
            answer = await _ask_while(asked, moved, partial(wait_for_disconnect, request.receive))
        except ConnectError as error:
            log.warning("node_unreachable", node=node.name, problem=str(error))
            return None
        except HttpError as error:
            log.warning("node_lost", node=node.name, problem=str(error))
            answer = None
        if answer is None:
            message = MOVED.format(agent=agent_id)
            raise ApiProblem(HTTPStatus.SERVICE_UNAVAILABLE, message, retry=RETRY_SECONDS)
        return RelayedResponse(answer, moved)

    # --- requests of operators -------------------------------------------------------------------

    def place_methods(
        self, methods: Mapping[str, RequestHandler], by: str
    ) -> Mapping[str, RequestHandler]:
        """Return methods that the node of the agent answers whom a request concerns."""
        if not self._daemon.store.is_shared:
            return methods
        return {name: partial(self._answer, name, by, own) for name, own in methods.items()}

    async def _answer(self, method: str, by: str, own: RequestHandler, params: JsonValue) -> Params:
        if passed_on.get() or not may_concern_agent(params):
            return await own(params)
        agent_id = await self._daemon.store.read(find_concerned_agent, method, params)
        if agent_id is None or self._daemon.placement.owns(agent_id):
            return await own(params)
        node = self._find_node(agent_id)
        if node is None:
            raise RpcError(FAILED, UNPLACED.format(agent=agent_id))
        try:
            with anyio.fail_after(CALL_SECONDS):
                return await self._call(node, NodeCall(method=method, params=params, by=by))
        except (HttpError, TimeoutError, ValueError) as error:
            problem = UNREACHABLE if isinstance(error, ConnectError) else UNANSWERED
            why = str(error) or "too late"
            text = problem.format(agent=agent_id, node=node.name, why=why)
            raise RpcError(FAILED, text) from error

    async def _call(self, node: Node, call: NodeCall) -> JsonValue:
        if not node.url:
            raise ConnectError("it names no address")
        headers = {"content-type": "application/json"}
        answer = await self._send(node, "POST", CALLS, headers, call.model_dump_json().encode())
        found = orjson.loads(await answer.read(MAX_FRAME))
        if not isinstance(found, dict):
            raise ValueError(f"HTTP {answer.status}")  # noqa: TRY004 - as for what is not JSON
        if "result" in found:
            result: JsonValue = found["result"]
            return result
        error = found.get("error", {})
        raise RpcError(int(error.get("code") or FAILED), str(error.get("message", "no answer")))

    # --- the connection ---------------------------------------------------------------------------

    def _find_node(self, agent_id: str) -> Node | None:
        placement = self._daemon.placement
        return None if placement.owns(agent_id) else placement.find_owner(agent_id)

    async def _send(
        self, node: Node, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> HttpAnswer:
        if self._network is None:
            from thinker.http.web_client import WebClient  # noqa: PLC0415 - most daemons need none

            self._network = WebClient(connect=CONNECT_SECONDS, read=ANSWER_SECONDS)
        sent = {**headers, "authorization": f"Bearer {self._key}"}
        return await self._network.send(method, f"{node.url.rstrip('/')}{path}", sent, body)

    async def _wait_until_moved(self, agent_id: str, node: Node) -> None:
        while self._find_node(agent_id) == node:
            with anyio.move_on_after(LOOK_SECONDS):
                await self._daemon.placement.changed.wait()


async def _ask_while(
    ask: Callable[[], Awaitable[HttpAnswer]], *ends: Callable[[], Awaitable[None]]
) -> HttpAnswer | None:
    """Return the answer, or None if one of ``ends`` returns before it comes."""
    answer, failed = None, None

    async def end(wait: Callable[[], Awaitable[None]]) -> None:
        await wait()
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for wait in ends:
            tasks.start_soon(end, wait)
        try:
            answer = await ask()
        except HttpError as error:
            failed = error
        tasks.cancel_scope.cancel()
    if failed is not None:
        raise failed
    return answer
