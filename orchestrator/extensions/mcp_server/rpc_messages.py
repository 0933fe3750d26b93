"""JSON-RPC as MCP uses it: messages, batches and errors. Pure."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import orjson
from pydantic import JsonValue

from orchestrator.errors import OrchestratorError
from thinker.protocol.messages import MAX_DEPTH, JsonObject, is_too_deep

PARSE_ERROR, INVALID_REQUEST, NO_METHOD = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL = -32602, -32603
UNAVAILABLE = -32000  # the daemon is away, or the request was cancelled
NOT_FOUND = -32002  # a resource, up to version 2025-11-25
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
MAX_ID = 200  # characters; a response repeats it
MAX_BATCH = 50  # messages
RequestId: TypeAlias = str | int


class McpProblem(OrchestratorError):  # noqa: N818 - it becomes a response, as `ApiProblem` does
    """A request that fails with this code."""

    def __init__(self, code: int, message: str, data: JsonValue = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Incoming(NamedTuple):
    """A request, or a notification, which has no id."""

    method: str
    params: JsonObject
    id: RequestId | None = None


def parse_message(raw: bytes | str) -> JsonValue:
    """Parse a body or a line.

    Raises:
        McpProblem: ``raw`` is not JSON, or is nested too deeply.
    """
    try:
        value: JsonValue = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise McpProblem(PARSE_ERROR, f"not JSON: {error}") from None
    if is_too_deep(value):
        raise McpProblem(INVALID_REQUEST, f"nested deeper than {MAX_DEPTH} levels")
    return value


def list_batch(value: JsonValue, *, allowed: bool) -> Sequence[JsonValue]:
    """List the messages of a batch, or the single message.

    Raises:
        McpProblem: a batch is not allowed, empty or too long.
    """
    if not isinstance(value, list):
        return [value]
    if not allowed:
        raise McpProblem(INVALID_REQUEST, "batches ended with version 2025-06-18; send one message")
    if not 0 < len(value) <= MAX_BATCH:
        raise McpProblem(INVALID_REQUEST, f"a batch has 1 to {MAX_BATCH} messages")
    return value


def read_message(value: JsonValue) -> Incoming | None:
    """Parse one message; return None for a response, as nothing waits for it.

    Raises:
        McpProblem: ``value`` is not a valid message.
    """
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise McpProblem(INVALID_REQUEST, 'send a JSON-RPC object with "jsonrpc": "2.0"')
    method, params = value.get("method"), value.get("params")
    if method is None and ("result" in value or "error" in value):
        return None
    if not isinstance(method, str):
        raise McpProblem(INVALID_REQUEST, "the message has no method")
    if params is not None and not isinstance(params, dict):
        raise McpProblem(INVALID_PARAMS, "params must be an object")
    call_id = find_request_id(value)
    if "id" in value and call_id is None:
        limit = f"a text of at most {MAX_ID} characters or an integer"
        raise McpProblem(INVALID_REQUEST, f"the id must be {limit}")
    return Incoming(method, params or {}, call_id)


def find_request_id(value: JsonValue) -> RequestId | None:
    """Return the id of a message, even if the rest is malformed; None without a usable one."""
    found = value.get("id") if isinstance(value, dict) else None
    if isinstance(found, bool) or not isinstance(found, str | int) or len(str(found)) > MAX_ID:
        return None
    return found


def build_success(call_id: RequestId | None, result: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": call_id, "result": result}


def build_failure(call_id: RequestId | None, problem: McpProblem) -> JsonObject:
    # A message may quote anything, such as half a surrogate pair.
    text = str(problem).encode("utf-8", "replace").decode()
    error: JsonObject = {"code": problem.code, "message": text}
    if problem.data is not None:
        error["data"] = problem.data
    return {"jsonrpc": "2.0", "id": call_id, "error": error}


def build_notification(method: str, params: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "method": method, "params": params}
