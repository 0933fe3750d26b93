"""An MCP server whose answer to ``tools/list`` is given: ``python odd_mcp_server.py JSON``.

``JSON`` has ``pages``, the results by cursor ("" for the first), or an ``error``; and
``capabilities`` if they are not those of a server with tools. Any tool answers with its name.
"""

import json
import sys
from typing import Any

TOOLS = {"tools": {"listChanged": True}}


def answer(message: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer to a request; None if the server keeps silent."""
    method, params = message["method"], message.get("params", {})
    result: dict[str, Any] = {}
    if method == "initialize":
        result = {
            "protocolVersion": "2025-06-18",
            "capabilities": plan.get("capabilities", TOOLS),
            "serverInfo": {"name": "odd", "version": "1"},
        }
    elif method == "tools/list":
        if plan.get("silent"):
            return None
        if "error" in plan:
            return {"error": plan["error"]}
        result = plan["pages"][params.get("cursor", "")]
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": params["name"]}]}
    elif method != "ping":
        return {"error": {"code": -32601, "message": "Method not found"}}
    return {"result": result}


def main() -> None:
    """Answer until the end of the input."""
    plan = json.loads(sys.argv[1])
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and (found := answer(message, plan)) is not None:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **found}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
