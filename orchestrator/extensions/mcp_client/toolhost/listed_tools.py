"""Repair the lists of tools that servers send: one odd tool costs itself, not its server.

The SDK refuses a whole list for one illegal field in it. Here each tool is looked at by itself
before, what is optional and illegal is removed, and what cannot be repaired is left out by name.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any, Self

import mcp_types as types
from mcp.client._transport import Transport, TransportStreams
from mcp.shared._stream_protocols import ReadStream
from mcp.shared.message import SessionMessage
from mcp_types import methods
from pydantic import ValidationError

from thinker.protocol.messages import MAX_DEPTH, is_too_deep

MAX_NAME = 1024  # characters; models see at most 64 of them
MAX_NOTES = 20
VERSION = "2025-11-25"  # of the protocol; its rules for tools are those of all versions
METHOD = "tools/list"

Json = dict[str, Any]
Received = SessionMessage | Exception


class ListNotes:
    """What is odd in the newest list of a server, a sentence about each tool."""

    def __init__(self) -> None:
        self._notes: dict[str, None] = {}

    def add(self, note: str) -> None:
        """Add a sentence, once."""
        self._notes[note] = None

    def clear(self) -> None:
        """Forget the last list."""
        self._notes.clear()

    def list_notes(self) -> tuple[str, ...]:
        """Return the first sentences, and how many more there are."""
        shown = list(self._notes)[:MAX_NOTES]
        more = len(self._notes) - len(shown)
        return (*shown, f"… and {more} more like these") if more else tuple(shown)


@asynccontextmanager
async def repair_lists(transport: Transport, notes: ListNotes) -> AsyncIterator[TransportStreams]:
    """Open a transport whose lists of tools are repaired on their way in."""
    async with transport as (incoming, outgoing):
        yield _RepairedStream(incoming, notes), outgoing


class _RepairedStream:
    """The messages of a server, with their lists of tools repaired."""

    def __init__(self, inner: ReadStream[Received], notes: ListNotes) -> None:
        self._inner = inner
        self._notes = notes

    @property
    def last_context(self) -> object:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Received:
        return self._repair(await self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Received:
        return self._repair(await anext(self._inner))

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)

    def _repair(self, received: Received) -> Received:
        if isinstance(received, SessionMessage):
            message = received.message
            if isinstance(message, types.JSONRPCResponse) and _is_tool_list(message.result):
                message.result = repair_tool_list(message.result, self._notes)
        return received


def _is_tool_list(result: object) -> bool:
    return isinstance(result, dict) and "tools" in result and "content" not in result


def repair_tool_list(result: Json, notes: ListNotes) -> Json:
    """Return an answer to `METHOD` that is legal; ``notes`` tell what was changed or left out."""
    cursor = result.get("nextCursor")
    if cursor is not None and not isinstance(cursor, str):
        notes.add("the rest of its tools is left out: its nextCursor is no text")
    listed = result["tools"]
    if not isinstance(listed, list):
        notes.add("its list of tools is no list")
        listed = []
    tools = [repaired for tool in listed if (repaired := _repair_tool(tool, notes)) is not None]
    odd = {"tools", *_list_illegal_fields({**result, "tools": []}, result)}
    return {**{field: value for field, value in result.items() if field not in odd}, "tools": tools}


def _repair_tool(tool: object, notes: ListNotes) -> Json | None:
    """Return a legal tool, or None if it cannot be used."""
    if not isinstance(tool, dict):
        notes.add("a tool is left out: it is no JSON object")
        return None
    name = tool.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME:
        notes.add(f"a tool is left out: its name {str(name)[:60]!r} cannot be used")
        return None
    about = f"the tool {name[:60]!r}"
    if is_too_deep(tool):
        notes.add(f"{about} is left out: it takes more than {MAX_DEPTH} levels of JSON")
        return None
    schema, problem = _repair_schema(
        tool.get("inputSchema"), lambda what: notes.add(f"{about}: {what}")
    )
    if problem:
        notes.add(f"{about} is left out: {problem}")
        return None
    repaired = {**tool, "inputSchema": schema}
    for field in _list_illegal_fields({"tools": [repaired]}, repaired):
        if field in ("name", "inputSchema"):
            notes.add(f"{about} is left out: its field {field!r} is illegal")
            return None
        notes.add(f"{about}: its field {field!r} is illegal and ignored")
        del repaired[field]
    return repaired


def _repair_schema(schema: object, tell: Callable[[str], None]) -> tuple[Json, str]:
    """Return the schema of an object, or the reason why there is none.

    A schema that says nothing takes anything.
    """
    if schema is None or schema is True:
        return {"type": "object"}, ""
    if not isinstance(schema, dict):
        return {}, "its inputSchema is no JSON object"
    kind = schema.get("type")
    if kind is not None and kind != "object" and not (isinstance(kind, list) and "object" in kind):
        return {}, f"its inputSchema is of the type {str(kind)[:60]!r}, not an object"
    repaired = {**schema, "type": "object"}
    properties = repaired.get("properties", {})
    if properties is None:
        del repaired["properties"]
    elif not isinstance(properties, dict):
        return {}, "the properties of its inputSchema are no JSON object"
    elif not all(isinstance(value, dict | bool) for value in properties.values()):
        odd = [name for name, value in properties.items() if not isinstance(value, dict | bool)]
        tell(f"its parameters {', '.join(odd)[:200]} have no schema and take anything")
        repaired["properties"] = {**properties, **{key: {} for key in odd}}
    required = repaired.get("required", [])
    if not isinstance(required, list) or not all(isinstance(one, str) for one in required):
        tell("what is required in its inputSchema is no list of names and is ignored")
        del repaired["required"]
    return repaired, ""


def _list_illegal_fields(result: Json, part: Json) -> Iterator[str]:
    """Yield each field of a part of an answer that the protocol or the SDK does not allow."""
    fields = dict[str, None]()
    for check in (
        partial(methods.validate_server_result, METHOD, VERSION),
        partial(types.ListToolsResult.model_validate, by_name=False),
    ):
        try:
            check(result)
        except ValidationError as error:
            for found in error.errors(include_input=False, include_url=False):
                steps = (step for step in found["loc"] if isinstance(step, str) and step in part)
                fields |= dict.fromkeys(islice(steps, 1))
    yield from fields
