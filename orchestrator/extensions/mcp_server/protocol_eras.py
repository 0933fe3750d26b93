"""The supported versions of MCP, and their differences. Pure.

Up to 2025-11-25 a client begins with a handshake (``initialize``). From 2026-07-28 on each request
names its version in ``params._meta``, and HTTP headers repeat it.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping

from pydantic import JsonValue

from orchestrator import __version__
from orchestrator.extensions.mcp_server.rpc_messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNSUPPORTED_VERSION,
    Incoming,
    McpProblem,
)
from thinker.protocol.messages import JsonObject

WITH_HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = ("2026-07-28",)
WITH_BATCHES = WITH_HANDSHAKE[:2]
VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "mcp-protocol-version", "mcp-method", "mcp-name"
ROUTING = (VERSION_HEADER, METHOD_HEADER, NAME_HEADER)
_META = "io.modelcontextprotocol/"
VERSION_KEY, CAPABILITIES_KEY = f"{_META}protocolVersion", f"{_META}clientCapabilities"
NAMED_BY = {"tools/call": "name", "resources/read": "uri"}  # what the header Mcp-Name repeats
CACHED = {  # milliseconds for which a client may keep a result
    "server/discover": 300_000,
    "tools/list": 60_000,
    "resources/templates/list": 300_000,
    "resources/list": 0,
    "resources/read": 0,
}
ENCODED = re.compile(r"=\?base64\?(.*)\?=")
CAPABILITIES: JsonObject = {"tools": {}, "resources": {}}
SERVER: JsonObject = {"name": "orchestrator", "title": "Orchestrator", "version": __version__}


def negotiate_version(params: JsonObject) -> str:
    """Choose the version of a handshake: the client's, or the newest with a handshake.

    Raises:
        McpProblem: the client names no version.
    """
    wanted = params.get("protocolVersion")
    if not isinstance(wanted, str):
        raise McpProblem(INVALID_PARAMS, "protocolVersion: send the version that you speak")
    return wanted if wanted in WITH_HANDSHAKE else WITH_HANDSHAKE[-1]


def is_stateless(message: Incoming, headers: Mapping[str, str] | None) -> bool:
    """Return whether a message is, or claims to be, of a version without handshake."""
    meta = message.params.get("_meta")
    named = isinstance(meta, dict) and VERSION_KEY in meta and message.method != "initialize"
    return named or (headers is not None and headers.get(VERSION_HEADER) in STATELESS)


def check_version(headers: Mapping[str, str]) -> None:
    """Refuse a request whose header names an unsupported version.

    Raises:
        McpProblem: the version is not supported.
    """
    version = headers.get(VERSION_HEADER)
    if version is not None and version not in WITH_HANDSHAKE:
        known = ", ".join((*WITH_HANDSHAKE, *STATELESS))
        raise McpProblem(INVALID_REQUEST, f"MCP-Protocol-Version must be one of {known}")


def check_envelope(message: Incoming, headers: Mapping[str, str] | None) -> None:
    """Check the envelope of a request without handshake; None if it came without HTTP.

    Raises:
        McpProblem: something is missing, contradicts a header, or names an unknown version.
    """
    meta = message.params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]
    if missing:
        raise McpProblem(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
    version = meta[VERSION_KEY]
    if headers is not None:
        _check_headers(message, version, headers)
    if not isinstance(version, str):
        raise McpProblem(INVALID_PARAMS, f"{VERSION_KEY} must be a text")
    if version not in STATELESS:
        data: JsonObject = {"supported": list(STATELESS), "requested": version}
        raise McpProblem(UNSUPPORTED_VERSION, "unsupported protocol version", data)


def _check_headers(message: Incoming, version: JsonValue, headers: Mapping[str, str]) -> None:
    if headers.get(VERSION_HEADER) != version:
        raise McpProblem(HEADER_MISMATCH, f"the header {VERSION_HEADER} must be as in params._meta")
    if headers.get(METHOD_HEADER) != message.method:
        raise McpProblem(HEADER_MISMATCH, f"the header {METHOD_HEADER} must be {message.method!r}")
    name = message.params.get(NAMED_BY.get(message.method, ""))
    if name is not None and _decode_header(headers.get(NAME_HEADER)) != name:
        key = NAMED_BY[message.method]
        raise McpProblem(HEADER_MISMATCH, f"the header {NAME_HEADER} must be as params.{key}")


def _decode_header(value: str | None) -> str | None:
    """Decode a header; text that headers cannot carry is in base64."""
    found = ENCODED.fullmatch(value or "")
    if found is None:
        return value
    try:
        return b64decode(found[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def complete_result(method: str, result: JsonObject) -> JsonObject:
    """Complete a result with the fields that versions without handshake require."""
    about: JsonObject = {"resultType": "complete", "_meta": {f"{_META}serverInfo": SERVER}}
    if method in CACHED:
        about |= {"ttlMs": CACHED[method], "cacheScope": "private"}
    return {**result, **about}


def build_greeting(instructions: str) -> JsonObject:
    """Build the answer of both ``initialize`` and ``server/discover``."""
    return {"capabilities": CAPABILITIES, "instructions": instructions}
