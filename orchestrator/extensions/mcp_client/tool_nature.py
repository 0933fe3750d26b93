"""Guess whether an MCP tool reads private data or can carry data out.

Pure. It goes by the server's read-only hint, by the words of the tool's name, and by its
parameters. That a tool only reads is believed of trusted servers alone, and one of theirs that
takes an address can carry data in it all the same. The author of any other server reads its
arguments, so a call that takes free text carries data, whatever the tool calls itself.
"""

import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from orchestrator.extensions.mcp_client.toolhost.wire import ServerTool
from thinker.protocol.messages import JsonObject

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
WHOLE_TEXTS = frozenset(  # named after what somebody wrote as a whole
    [
        "article",
        "attachment",
        "body",
        "browse",
        "cat",
        "content",
        "contents",
        "crawl",
        "doc",
        "document",
        "download",
        "extract",
        "fetch",
        "file",
        "html",
        "note",
        "page",
        "raw",
        "resource",
        "scrape",
        "site",
        "text",
        "transcript",
        "url",
        "webpage",
        "website",
    ]
)
ADDRESSES = frozenset(
    ["domain", "endpoint", "host", "hostname", "href", "link", "uri", "url", "webhook"]
)
CLOSED = ("integer", "number", "boolean", "null")  # kinds of values that hold no text
MAX_NUMBER = 1 << 53  # a larger one is not exact in JSON
FORMATS = frozenset(("uri", "url", "iri", "hostname", "idn-hostname", "uri-reference"))


def is_reading_tool(tool: ServerTool) -> bool:
    """Return whether the tool's result is something that the call asks to read."""
    if tool.read_only:
        return True
    words = _split_words(tool.name)
    if words & WRITES:
        return False
    return bool(words & READS) or (bool(words & PRIVATE) and not words & EITHER)


def returns_whole_text(name: str) -> bool:
    """Return whether a tool may return a text as its author wrote it, such as a page."""
    words = _split_words(name)
    return bool(words & WHOLE_TEXTS) and not words & WRITES


def can_carry_out_data(tool: ServerTool, *, network: bool, trusted: bool = False) -> bool:
    """Return whether a call could carry data out.

    ``network``: its server can leave the machine; ``trusted``: the operator trusts the server.
    """
    if not network:
        return False
    if not is_reading_tool(tool):
        return True
    if trusted:
        return any(_iter_address_flags(tool.parameters, DEPTH))
    return any(_takes_free_text(one, DEPTH) for one in list_parameters(tool.parameters).values())


def list_parameters(schema: JsonObject) -> Mapping[str, JsonValue]:
    """Return the schema of each parameter by its name."""
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def find_smuggled_text(arguments: JsonObject, schema: JsonObject) -> str:
    """Return the name of an argument that holds text although no parameter takes any.

    Such are arguments and words that the schema does not list, and numbers of too many digits.
    """
    known = list_parameters(schema)
    held = (
        name
        for name, value in arguments.items()
        if name not in known or _holds_text(value, known[name])
    )
    return next(held, "")


def _holds_text(value: JsonValue, schema: JsonValue) -> bool:
    known = schema if isinstance(schema, dict) else {}
    if isinstance(value, str):
        listed = known.get("enum", [known.get("const")])
        return not isinstance(listed, list) or value not in listed
    if isinstance(value, list):
        return any(_holds_text(item, known.get("items")) for item in value)
    if isinstance(value, dict):
        return bool(find_smuggled_text(value, known))
    return isinstance(value, int) and abs(value) > MAX_NUMBER


def _takes_free_text(schema: JsonValue, depth: int) -> bool:
    """Return whether a value of a schema may be, or hold, any text."""
    if not isinstance(schema, dict) or not depth:
        return True
    if "enum" in schema or "const" in schema:
        return False
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind == "array":
            if _takes_free_text(schema.get("items"), depth - 1):
                return True
        elif kind == "object":
            parts = list_parameters(schema).values()
            closed = schema.get("additionalProperties") is False
            if not closed or any(_takes_free_text(part, depth - 1) for part in parts):
                return True
        elif kind not in CLOSED:
            return True
    return False


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
