"""A fake MCP server on stdio. It imports next to nothing, because each daemon starts it anew."""

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

    from orchestrator.testing.loopback import ForeignJson

    Call: TypeAlias = Callable[[ForeignJson], str | ForeignJson]

NO_METHOD = -32601  # JSON-RPC 2.0


def serve_tools(name: str, tools: Sequence["ForeignJson"], call: "Call") -> None:
    """Answer requests until standard input ends.

    ``call`` returns the text of a call's result, or the result in the protocol's form.
    """
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            reply = {
                "jsonrpc": "2.0",
                "id": request["id"],
                **_answer_request(request, name, tools, call),
            }
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


def _answer_request(
    request: "ForeignJson",
    name: str,
    tools: Sequence["ForeignJson"],
    call: "Call",
) -> "ForeignJson":
    method, params = request["method"], request.get("params") or {}
    if method == "tools/call":
        result = call(params)
        if isinstance(result, str):
            result = {"content": [{"type": "text", "text": result}]}
        return {"result": result}
    results: ForeignJson = {
        "initialize": {
            "protocolVersion": params.get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": name, "version": "1"},
        },
        "ping": {},
        "tools/list": {"tools": tools},
    }
    if method in results:
        return {"result": results[method]}
    return {"error": {"code": NO_METHOD, "message": f"there is no method {method}"}}
