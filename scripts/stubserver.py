"""An MCP server on stdio with one tool, for bench_recovery; it starts at once."""

import json
import sys

NO_METHOD = {"code": -32601, "message": "there is no such method"}
TOOL = {  # read-only, so that a call that a kill interrupted is made again without a question
    "name": "look",
    "description": "Looks.",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}


def answer(request: dict) -> dict:
    """Return the result of a request, or the error."""
    results = {
        "initialize": {
            "protocolVersion": request.get("params", {}).get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "bench", "version": "1"},
        },
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [{"type": "text", "text": "seen"}]},
        "ping": {},
    }
    if request["method"] in results:
        return {"result": results[request["method"]]}
    return {"error": NO_METHOD}


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            print(
                json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer(request)}), flush=True
            )
