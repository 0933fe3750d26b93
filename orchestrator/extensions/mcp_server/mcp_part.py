"""The MCP server in a daemon: its channel, its route, and the lines of `orchestrator mcp`."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic import JsonValue

from orchestrator.extension import DaemonView, Part, Route
from orchestrator.extensions.mcp_server.mcp_channel import McpChannel
from orchestrator.extensions.mcp_server.mcp_lines import SESSION, make_lazy_handler
from orchestrator.extensions.mcp_server.withdrawal import WITHDRAW, withdraw_message
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import Params, Peer, RequestHandler

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from orchestrator.extensions.mcp_server.mcp_service import McpService
    from orchestrator.web.error_response import ApiProblem

PATH = "/mcp"


class McpServerPart(Part):
    """Serves MCP clients; the service is made for the first of them."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._channel = McpChannel(daemon.store)
        self._closing = False

    async def list_adapters(self) -> tuple[McpChannel]:
        return (self._channel,)

    async def close(self) -> None:
        """Give waiting clients their answers now."""
        self._closing = True

    def list_routes(self) -> tuple[Route]:
        return (
            Route(
                PATH,
                self._answer_post,
                methods=("POST",),
                document=_build_refusal,
                exposed_headers=(SESSION,),
            ),
        )

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        return {} if peer is None else make_lazy_handler(lambda: self._make_line_handler(peer))

    def list_authored_methods(self, by: str) -> Mapping[str, RequestHandler]:
        del by
        return {WITHDRAW: self._withdraw_message}

    async def _withdraw_message(self, params: JsonValue) -> Params:
        return await withdraw_message(self.daemon, params)

    @cached_property
    def _service(self) -> "McpService":
        from orchestrator.extensions.mcp_server.serving import build_mcp_service

        return build_mcp_service(self.daemon, self._channel)

    async def _answer_post(self, request: "Request") -> "Response":
        from orchestrator.extensions.mcp_server.mcp_route import McpRoute

        return await McpRoute(self._service, lambda: self._closing).answer_post(request)

    def _make_line_handler(self, peer: Peer) -> RequestHandler:
        from orchestrator.extensions.mcp_server.serving import make_line_handler

        return make_line_handler(self._service, peer)


def _build_refusal(problem: "ApiProblem") -> JsonObject:
    from orchestrator.extensions.mcp_server.rpc_messages import (
        INVALID_REQUEST,
        McpProblem,
        build_failure,
    )

    return build_failure(None, McpProblem(INVALID_REQUEST, str(problem)))
