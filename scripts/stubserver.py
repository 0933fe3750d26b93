"""An MCP server on stdio with one tool, for bench_recovery; it starts at once."""

from orchestrator.extensions.selftest.crash.stdio_server import serve_tools

TOOL = {  # read-only, so that a call that a kill interrupted is made again without a question
    "name": "look",
    "description": "Looks.",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}


if __name__ == "__main__":
    serve_tools("bench", [TOOL], lambda _: "seen")
