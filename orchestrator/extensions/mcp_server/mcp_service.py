"""Answer the messages of MCP clients, over any transport and without state between requests.

Running requests are found by the client's session and the request's id, for cancellation.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio
import structlog
from pydantic import JsonValue

from orchestrator.errors import JournalError, OrchestratorError
from orchestrator.extensions.mcp_server.mcp_caller import CallProgress, McpCaller, McpToolCall, Send
from orchestrator.extensions.mcp_server.mcp_settings import McpSettings
from orchestrator.extensions.mcp_server.offered_tools import OfferedTools
from orchestrator.extensions.mcp_server.protocol_eras import (
    SERVER,
    STATELESS,
    WITH_HANDSHAKE,
    build_greeting,
    check_envelope,
    check_version,
    complete_result,
    is_stateless,
    negotiate_version,
)
from orchestrator.extensions.mcp_server.rpc_messages import (
    INTERNAL,
    INVALID_PARAMS,
    NO_METHOD,
    UNAVAILABLE,
    Incoming,
    McpProblem,
    RequestId,
    build_failure,
    build_success,
    read_message,
)
from orchestrator.extensions.mcp_server.trace_resources import TraceResources
from thinker.protocol.messages import JsonObject

PAGE = 100  # tools in a response
INSTRUCTIONS = (
    "Orchestrator runs agents that have their own tools, memory and chats. ask_AGENT sends an agent"
    " a message and returns its answer; to go on with a conversation, pass the chat that the answer"
    " named. Where agents are many, find_agents finds some, and ask takes the place of ask_AGENT."
    " A long answer may need wait_for_answer. Resources are traces of what agents did."
)
OFF = 'MCP is off: channels.mcp in agents.json has "enabled": false'
log = structlog.get_logger()


@dataclass
class McpExchange:
    """A request being answered; ``headers`` are set if it came by HTTP."""

    message: Incoming
    caller: McpCaller
    send: Send
    headers: Mapping[str, str] | None
    stateless: bool
    cancelled: bool = field(default=False, init=False)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope, init=False)
    call: McpToolCall | None = field(default=None, init=False)

    def cancel(self) -> None:
        """Cancel the request, and the work that it began."""
        self.cancelled = True
        self.scope.cancel()

    def on_disconnect(self) -> None:
        """React to the client closing this request's connection.

        That cancels a request without handshake. Work of any other request continues.
        """
        if self.stateless:
            self.cancel()
        else:
            self.scope.cancel()


Method: TypeAlias = Callable[[McpExchange], Awaitable[JsonObject]]


@dataclass
class McpService:
    """The server. ``fresh`` makes an id that no one can guess."""

    tools: OfferedTools
    resources: TraceResources
    fresh: Callable[[], str]
    _running: dict[tuple[str, RequestId], McpExchange] = field(default_factory=dict, init=False)

    def begin_exchange(
        self,
        value: JsonValue,
        caller: McpCaller,
        send: Send,
        headers: Mapping[str, str] | None = None,
    ) -> McpExchange | None:
        """Accept a message; return None if it needs no answer.

        ``send`` sends notifications while a request is answered.

        Raises:
            McpProblem: ``value`` is not a message of MCP.
        """
        message = read_message(value)
        if message is None:
            return None
        if message.id is None:
            self._apply_notification(message, caller)
            return None
        stateless = is_stateless(message, headers)
        if headers is not None and not stateless:
            check_version(headers)
        return McpExchange(message, caller, send, headers, stateless)

    async def answer_exchange(self, exchange: McpExchange) -> JsonObject | None:
        """Return the response to a request; None if its client no longer wants it."""
        message = exchange.message
        try:
            with self._register_exchange(exchange), exchange.scope:
                result = await self._find_method(exchange)(exchange)
                done = complete_result(message.method, result) if exchange.stateless else result
                return build_success(message.id, done)
        except McpProblem as problem:
            return build_failure(message.id, problem)
        except JournalError as error:
            return build_failure(message.id, McpProblem(INTERNAL, str(error)))
        except Exception:  # one bad request must not end the server
            log.exception("mcp_request_broke", method=message.method)
            text = "internal error; the daemon's log has the details"
            return build_failure(message.id, McpProblem(INTERNAL, text))
        if exchange.cancelled:
            await self._withdraw_message(exchange)
        return None

    def _find_method(self, exchange: McpExchange) -> Method:
        if not self.tools.talk.daemon.configuration.file.channels.get_settings(McpSettings).enabled:
            raise McpProblem(UNAVAILABLE, OFF)
        if exchange.stateless:
            check_envelope(exchange.message, exchange.headers)
        methods = (
            self._build_stateless_methods()
            if exchange.stateless
            else self._build_handshake_methods()
        )
        found = methods.get(exchange.message.method)
        if found is None:
            raise McpProblem(NO_METHOD, f"unknown method {exchange.message.method!r}")
        return found

    def _apply_notification(self, message: Incoming, caller: McpCaller) -> None:
        """Apply a notification: only cancellations have an effect."""
        wanted = message.params.get("requestId")
        if message.method != "notifications/cancelled" or not isinstance(wanted, str | int):
            return
        found = self._running.get((caller.session, wanted)) if caller.session else None
        if found is not None:
            found.cancel()

    @contextmanager
    def _register_exchange(self, exchange: McpExchange) -> Iterator[None]:
        """Let a notification find the exchange while the block runs."""
        session, call_id = exchange.caller.session, exchange.message.id
        if not session or call_id is None:
            yield
            return
        self._running[session, call_id] = exchange
        try:
            yield
        finally:
            if self._running.get((session, call_id)) is exchange:
                del self._running[session, call_id]

    async def _withdraw_message(self, exchange: McpExchange) -> None:
        """Withdraw the message that a cancelled call sent to an agent."""
        asked = None if exchange.call is None else exchange.call.asked
        if asked is not None:
            try:
                with anyio.CancelScope(shield=True):
                    await self.tools.talk.withdraw_message(asked, exchange.caller.owner)
            except OrchestratorError as error:  # the agent goes on
                log.warning("mcp_withdrawal_failed", message=asked, problem=str(error))
        log.debug("mcp_request_canceled", method=exchange.message.method, message=asked)

    def _build_handshake_methods(self) -> dict[str, Method]:
        return {
            "initialize": _answer_initialize,
            "ping": _answer_ping,
            **self._build_common_methods(),
        }

    def _build_stateless_methods(self) -> dict[str, Method]:
        return {"server/discover": _answer_discover, **self._build_common_methods()}

    def _build_common_methods(self) -> dict[str, Method]:
        return {
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
        }

    async def _list_tools(self, exchange: McpExchange) -> JsonObject:
        tools = [tool.build_definition() for tool in self.tools.list_tools(exchange.caller)]
        cursor = _parse_cursor(exchange) or "0"
        if not (cursor.isascii() and cursor.isdecimal() and int(cursor[:9]) <= len(tools)):
            raise McpProblem(INVALID_PARAMS, f"unknown cursor {cursor[:50]!r}")
        end = int(cursor) + PAGE
        shown: list[JsonValue] = [*tools[int(cursor) : end]]
        return {"tools": shown} | ({"nextCursor": str(end)} if end < len(tools) else {})

    async def _call_tool(self, exchange: McpExchange) -> JsonObject:
        params = exchange.message.params
        name, arguments = _require_text(params, "name"), params.get("arguments")
        if arguments is not None and not isinstance(arguments, dict):
            raise McpProblem(INVALID_PARAMS, "arguments must be an object")
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        wanted = token if isinstance(token, str | int) and not isinstance(token, bool) else None
        exchange.call = McpToolCall(
            exchange.caller,
            exchange.message.id,
            name,
            arguments or {},
            CallProgress(exchange.send, wanted),
            self.fresh,
        )
        return (await self.tools.run(exchange.call)).build_result()

    async def _list_resources(self, exchange: McpExchange) -> JsonObject:
        return await self.resources.list_resources(exchange.caller, _parse_cursor(exchange))

    async def _list_templates(self, exchange: McpExchange) -> JsonObject:
        _parse_cursor(exchange)
        return self.resources.list_templates()

    async def _read_resource(self, exchange: McpExchange) -> JsonObject:
        uri = _require_text(exchange.message.params, "uri")
        return await self.resources.read_resource(
            exchange.caller, uri, stateless=exchange.stateless
        )


async def _answer_initialize(exchange: McpExchange) -> JsonObject:
    version = negotiate_version(exchange.message.params)
    return {"protocolVersion": version, "serverInfo": SERVER, **build_greeting(INSTRUCTIONS)}


async def _answer_discover(exchange: McpExchange) -> JsonObject:
    del exchange
    versions: list[JsonValue] = [*STATELESS, *reversed(WITH_HANDSHAKE)]
    return {"supportedVersions": versions, **build_greeting(INSTRUCTIONS)}


async def _answer_ping(exchange: McpExchange) -> JsonObject:
    del exchange
    return {}


def _require_text(params: JsonObject, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise McpProblem(INVALID_PARAMS, f"{name} must be a text")
    return value


def _parse_cursor(exchange: McpExchange) -> str | None:
    cursor = exchange.message.params.get("cursor")
    if cursor is not None and not isinstance(cursor, str):
        raise McpProblem(INVALID_PARAMS, "cursor must be a text")
    return cursor
