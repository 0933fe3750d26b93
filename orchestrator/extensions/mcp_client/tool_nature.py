"""Guess whether an MCP tool reads private data or can carry data out.

Pure. It goes by the server's read-only hint, by the words of the tool's name, and by its
parameters: a tool that takes an address can carry data in it, also when it only reads.
"""

import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from orchestrator.extensions.mcp_client.toolhost.wire import ServerTool

DEPTH = 8  # levels of a parameter schema that are examined
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
READS = frozenset(
    [
        "browse",
        "cat",
        "describe",
        "fetch",
        "find",
        "get",
        "grep",
        "inspect",
        "list",
        "load",
        "look",
        "lookup",
        "open",
        "peek",
        "preview",
        "query",
        "read",
        "retrieve",
        "search",
        "select",
        "show",
        "view",
    ]
)
WRITES = frozenset(
    [
        "add",
        "append",
        "apply",
        "archive",
        "cancel",
        "clear",
        "commit",
        "create",
        "delete",
        "drop",
        "edit",
        "execute",
        "export",
        "forward",
        "insert",
        "install",
        "invite",
        "mark",
        "move",
        "notify",
        "pay",
        "publish",
        "push",
        "put",
        "remove",
        "rename",
        "replace",
        "reply",
        "run",
        "save",
        "schedule",
        "send",
        "set",
        "store",
        "submit",
        "sync",
        "transfer",
        "tweet",
        "update",
        "upload",
        "write",
    ]
)
EITHER = frozenset(
    ["book", "buy", "call", "email", "mail", "message", "order", "post", "record", "share", "text"]
)
PRIVATE = frozenset(  # named after what is read: ``notes``, ``my_calendar``
    [
        "account",
        "agenda",
        "balance",
        "calendar",
        "contacts",
        "diary",
        "docs",
        "documents",
        "emails",
        "events",
        "files",
        "history",
        "inbox",
        "journal",
        "keys",
        "mails",
        "memories",
        "memory",
        "messages",
        "note",
        "notes",
        "password",
        "passwords",
        "private",
        "profile",
        "secret",
        "secrets",
        "todo",
        "todos",
        "vault",
    ]
)
ADDRESSES = frozenset(
    ["domain", "endpoint", "host", "hostname", "href", "link", "uri", "url", "webhook"]
)
FORMATS = frozenset(("uri", "url", "iri", "hostname", "idn-hostname", "uri-reference"))


def is_reading_tool(tool: ServerTool) -> bool:
    """Return whether the tool's result is something that the call asks to read."""
    if tool.read_only:
        return True
    words = _split_words(tool.name)
    if words & WRITES:
        return False
    return bool(words & READS) or (bool(words & PRIVATE) and not words & EITHER)


def can_carry_out_data(tool: ServerTool, *, network: bool) -> bool:
    """Return whether a call could carry data out; ``network``: its server can leave the machine."""
    return network and (
        not is_reading_tool(tool) or any(_iter_address_flags(tool.parameters, DEPTH))
    )


def _split_words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in WORD.findall(name))


def _iter_address_flags(schema: JsonValue, depth: int) -> Iterator[bool]:
    """Yield whether each part of a schema is the parameter of an address."""
    if not depth:
        return
    if isinstance(schema, list):
        for item in schema:
            yield from _iter_address_flags(item, depth - 1)
    if not isinstance(schema, dict):
        return
    yield schema.get("format") in FORMATS
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name in properties:
            words = _split_words(name)
            yield bool((words | {word.removesuffix("s") for word in words}) & ADDRESSES)
    for value in schema.values():
        yield from _iter_address_flags(value, depth - 1)
