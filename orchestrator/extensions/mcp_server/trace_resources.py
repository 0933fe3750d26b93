"""MCP resources: the newest turns, and each one's trace as text and JSON."""

from dataclasses import dataclass
from datetime import UTC, datetime

import orjson
from pydantic import JsonValue

from orchestrator.control.roles import Right
from orchestrator.errors import UnknownNameError
from orchestrator.extensions.mcp_server.mcp_caller import McpCaller
from orchestrator.extensions.mcp_server.rpc_messages import INVALID_PARAMS, NOT_FOUND, McpProblem
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.inspect import trace, turn_search
from orchestrator.journal.inspect.trace import Trace, TraceEvent
from orchestrator.journal.inspect.turn_search import FoundTurn
from thinker.protocol.messages import JsonObject
from thinker.protocol.names import format_chat_name, format_turn_name

TURNS = "orchestrator://turns"
AS_JSON = "/json"
MAX_QUESTION = 80  # characters of a question in a title
TEXT, JSON = "text/plain", "application/json"


@dataclass(frozen=True)
class TraceResources:
    """The turns that a caller may see: those of its own chats, or all for an operator."""

    store: Store

    async def list_resources(self, caller: McpCaller, cursor: str | None) -> JsonObject:
        """Return a page of resources, newest turns first; the first page has the list as well."""
        wanted = {} if caller.has_right(Right.READ) else {"chat": caller.own_chats}
        page = await self.store.search(turn_search.search_turns, wanted, cursor)
        resources: list[JsonValue] = [_build_resource(turn) for turn in page.turns]
        if cursor is None:
            about = "The newest turns of all agents that you may see, as JSON."
            overview: JsonObject = {"uri": TURNS, "name": "turns", "title": "Newest turns"}
            resources.insert(0, {**overview, "description": about, "mimeType": JSON})
        found: JsonObject = {"resources": resources}
        return found if page.before is None else {**found, "nextCursor": page.before}

    def list_templates(self) -> JsonObject:
        about = "What a turn did, step by step: {turn} is its id or the end of it, as {form}."
        as_text: JsonObject = {
            "uriTemplate": f"{TURNS}/{{turn}}",
            "name": "trace",
            "title": "Trace of a turn",
            "description": about.format(turn="`turn`", form="text"),
            "mimeType": TEXT,
        }
        as_json: JsonObject = {
            "uriTemplate": f"{TURNS}/{{turn}}{AS_JSON}",
            "name": "trace_json",
            "title": "Trace of a turn, as JSON",
            "description": about.format(turn="`turn`", form="JSON"),
            "mimeType": JSON,
        }
        return {"resourceTemplates": [as_text, as_json]}

    async def read_resource(self, caller: McpCaller, uri: str, *, stateless: bool) -> JsonObject:
        """Return the contents of a resource.

        Raises:
            McpProblem: the caller may not read this address.
        """
        if uri == TURNS:
            return _build_contents(uri, JSON, await self._load_overview(caller))
        name = uri.removeprefix(f"{TURNS}/")
        as_json, name = name.endswith(AS_JSON), name.removesuffix(AS_JSON)
        try:
            among = None if caller.has_right(Right.READ) else caller
            found = await self.store.search(_load_trace, "" if name == uri else name, among)
        except UnknownNameError as error:
            code = INVALID_PARAMS if stateless else NOT_FOUND
            message = f"unknown resource {uri[:200]!r}: {error}"
            raise McpProblem(code, message, {"uri": uri}) from error
        if as_json:
            return _build_contents(uri, JSON, found.model_dump_json(by_alias=True, indent=2))
        return _build_contents(uri, TEXT, _format_trace(found))

    async def _load_overview(self, caller: McpCaller) -> str:
        wanted = {} if caller.has_right(Right.READ) else {"chat": caller.own_chats}
        page = await self.store.search(turn_search.search_turns, wanted, None)
        turns = [
            {
                "turn": turn.id,
                "agent": turn.agent_id,
                "chat": format_chat_name(turn.chat_key),
                "state": turn.state,
                "stopReason": turn.stop_reason,
                "began": _format_time(turn.began),
                "ended": None if turn.ended is None else _format_time(turn.ended),
                "asked": turn.asked,
                "tools": turn.tools,
                "tokens": turn.tokens,
                "usd": turn.usd,
            }
            for turn in page.turns
        ]
        return orjson.dumps(turns, option=orjson.OPT_INDENT_2).decode()


def _build_resource(turn: FoundTurn) -> JsonObject:
    asked = " ".join(turn.asked.split())
    title = f"{turn.agent_id} in {format_chat_name(turn.chat_key)}: {asked[:MAX_QUESTION]}"
    return {
        "uri": f"{TURNS}/{turn.id}",
        "name": format_turn_name(turn.id),
        "title": title,
        "description": f"{turn.state}, {_format_time(turn.began)}",
        "mimeType": TEXT,
    }


def _load_trace(db: Database, name: str, among: McpCaller | None) -> Trace:
    """Return the trace of a turn that the caller may see.

    Raises:
        UnknownNameError: no turn matches, or several do.
    """
    ids = trace.list_turns_named(db, name)
    if name in ids:
        ids = [name]
    turns = turn_search.list_turns_by_id(db, ids)
    if among is not None:
        turns = [turn for turn in turns if turn.chat_key.startswith(among.own_chats)]
    if len(turns) != 1:
        many = "several turns have such an id; write more of it"
        raise UnknownNameError(many if turns else "unknown turn")
    return trace.load_turn_trace(db, turns[0].id)


def _build_contents(uri: str, media_type: str, text: str) -> JsonObject:
    return {"contents": [{"uri": uri, "mimeType": media_type, "text": text}]}


def _format_trace(found: Trace) -> str:
    messages = ", ".join(map(str, found.messages))
    turns = " ".join(map(format_turn_name, found.turns))
    lines = [f"message {messages}, turn {turns}", "", "time (UTC), what, state, ms, detail"]
    return "\n".join([*lines, *map(_format_event, found.events)])


def _format_event(event: TraceEvent) -> str:
    name = {"inbox": "message", "outbox": "reply"}.get(event.kind, event.kind)
    number = format_turn_name(event.turn_id or "") if event.kind == "turn" else event.number
    took = "" if event.ms is None else f"{event.ms}"
    return (
        f"{_format_time(event.at)}  {name} {number}  {event.state}  {took}  {event.detail}".rstrip()
    )


def _format_time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
