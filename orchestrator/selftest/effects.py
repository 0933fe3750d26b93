"""An MCP server on stdio whose tools have irreversible effects: ``… effects LEDGER``.

``effect`` has its effect at each call. ``keyed`` takes ``_idempotency_key`` and has its effect once
for each key. Both record it in the ledger.
"""

import json
import sys
from pathlib import Path

from orchestrator.selftest.ledger import Ledger
from orchestrator.selftest.loopback import ForeignJson

KEY = "_idempotency_key"
NO_METHOD = -32601  # JSON-RPC 2.0
TEXT = {"type": "string"}
TOOLS = [
    {
        "name": "effect",
        "description": "Does something that cannot be undone.",
        "inputSchema": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
    },
    {
        "name": "keyed",
        "description": "Does something once for each key.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": TEXT, KEY: TEXT},
            "required": ["name", KEY],
        },
    },
]


def answer(request: ForeignJson, ledger: Ledger) -> ForeignJson:
    method, params = request["method"], request.get("params") or {}
    results: dict[str, ForeignJson] = {
        "initialize": {
            "protocolVersion": params.get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "selftest", "version": "1"},
        },
        "ping": {},
        "tools/list": {"tools": TOOLS},
    }
    if method == "tools/call":
        return {"result": _call(params["name"], params["arguments"], ledger)}
    if method in results:
        return {"result": results[method]}
    return {"error": {"code": NO_METHOD, "message": f"there is no method {method}"}}


def _call(tool: str, arguments: ForeignJson, ledger: Ledger) -> ForeignJson:
    name = arguments["name"]
    if tool == "effect":
        ledger.append("effect", name)
    else:
        ledger.append_once("keyed", f"{arguments[KEY]} {name}")
    return {"content": [{"type": "text", "text": f"{name} is done"}]}


def main() -> None:
    ledger = Ledger(Path(sys.argv[1]))
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            reply = {"jsonrpc": "2.0", "id": request["id"], **answer(request, ledger)}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
