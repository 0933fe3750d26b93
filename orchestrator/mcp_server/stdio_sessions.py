"""The daemon's end of `orchestrator mcp`: lines of a client come over the control socket.

The command keeps a line until it is done with here. It sends what is left to the next daemon, with
the same session.
"""

from dataclasses import dataclass, field

import anyio
from pydantic import JsonValue

from orchestrator.control.mcp_lines import MCP_OUT, McpLine, McpOutput
from orchestrator.control.protocol import Ack
from orchestrator.mcp_server.mcp_caller import McpCaller
from orchestrator.mcp_server.mcp_service import McpService
from orchestrator.mcp_server.protocol_eras import WITH_BATCHES
from orchestrator.mcp_server.rpc_messages import (
    McpProblem,
    batch_of,
    failure,
    parse,
    request_id,
)
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import Peer


@dataclass
class StdioSession:
    """One connection. Its user opened the control socket, and so is the operator."""

    service: McpService
    peer: Peer
    version: str | None = field(default=None, init=False)  # None: not known to this daemon

    async def take(self, params: JsonValue) -> Ack:
        """Answer a line; what is to be said goes out before the acknowledgment."""
        given = McpLine.model_validate(params)
        caller = McpCaller("operator", given.session)
        try:
            value = parse(given.line)
            allowed = self.version is None or self.version in WITH_BATCHES
            batch = batch_of(value, allowed=allowed)
        except McpProblem as problem:
            self._send(failure(None, problem))
            return Ack()
        if not isinstance(value, list):
            response = await self._answer(value, caller)
            if response is not None:
                self._send(response)
            return Ack()
        responses: list[JsonValue] = []

        async def one(item: JsonValue) -> None:
            response = await self._answer(item, caller)
            if response is not None:
                responses.append(response)

        async with anyio.create_task_group() as tasks:
            for item in batch:
                tasks.start_soon(one, item)
        if responses:
            self._send(responses)
        return Ack()

    async def _answer(self, value: JsonValue, caller: McpCaller) -> JsonObject | None:
        try:
            exchange = self.service.begin(value, caller, self._send)
        except McpProblem as problem:
            return failure(request_id(value), problem)
        if exchange is None:
            return None
        response = await self.service.answer(exchange)
        if exchange.message.method == "initialize" and response is not None:
            result = response.get("result")
            version = result.get("protocolVersion") if isinstance(result, dict) else None
            self.version = version if isinstance(version, str) else None
        return response

    def _send(self, message: JsonValue) -> None:
        self.peer.notify(MCP_OUT, McpOutput(message=message))
