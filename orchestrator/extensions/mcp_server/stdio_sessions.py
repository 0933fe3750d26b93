"""The daemon's side of `orchestrator mcp`: a client's lines over the control socket.

The command keeps a line until the daemon has finished it, and sends unfinished lines to the next
daemon, with the same session.
"""

from dataclasses import dataclass, field

import anyio
from pydantic import JsonValue

from orchestrator.control.protocol import Ack
from orchestrator.extensions.mcp_server.mcp_caller import McpCaller
from orchestrator.extensions.mcp_server.mcp_lines import MCP_OUT, McpLine, McpOutput
from orchestrator.extensions.mcp_server.mcp_service import McpService
from orchestrator.extensions.mcp_server.protocol_eras import WITH_BATCHES
from orchestrator.extensions.mcp_server.rpc_messages import (
    McpProblem,
    build_failure,
    find_request_id,
    list_batch,
    parse_message,
)
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import Peer


@dataclass
class StdioSession:
    """One connection; its user opened the control socket, and so is the operator."""

    service: McpService
    peer: Peer
    version: str | None = field(default=None, init=False)  # None: not known to this daemon

    async def answer_line(self, params: JsonValue) -> Ack:
        """Answer a line; output is sent before the acknowledgement."""
        given = McpLine.model_validate(params)
        caller = McpCaller("operator", given.session)
        try:
            value = parse_message(given.line)
            allowed = self.version is None or self.version in WITH_BATCHES
            batch = list_batch(value, allowed=allowed)
        except McpProblem as problem:
            self._notify_client(build_failure(None, problem))
            return Ack()
        if not isinstance(value, list):
            response = await self._answer_value(value, caller)
            if response is not None:
                self._notify_client(response)
            return Ack()
        responses: list[JsonValue] = []

        async def answer_item(item: JsonValue) -> None:
            response = await self._answer_value(item, caller)
            if response is not None:
                responses.append(response)

        async with anyio.create_task_group() as tasks:
            for item in batch:
                tasks.start_soon(answer_item, item)
        if responses:
            self._notify_client(responses)
        return Ack()

    async def _answer_value(self, value: JsonValue, caller: McpCaller) -> JsonObject | None:
        try:
            exchange = self.service.begin_exchange(value, caller, self._notify_client)
        except McpProblem as problem:
            return build_failure(find_request_id(value), problem)
        if exchange is None:
            return None
        response = await self.service.answer_exchange(exchange)
        if exchange.message.method == "initialize" and response is not None:
            result = response.get("result")
            version = result.get("protocolVersion") if isinstance(result, dict) else None
            self.version = version if isinstance(version, str) else None
        return response

    def _notify_client(self, message: JsonValue) -> None:
        self.peer.notify(MCP_OUT, McpOutput(message=message))
