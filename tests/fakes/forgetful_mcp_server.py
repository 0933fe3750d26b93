"""A streamable HTTP MCP server that forgets its sessions when it is told to."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

HEADER = "Mcp-Session-Id"
NOT_FOUND = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": -32001, "message": "Session not found"},
}


class ForgetfulServer:
    """Counts sessions and calls; ``refusal`` is the status and body of requests without a session.

    ``keeps`` says whether it keeps the sessions that it begins.
    """

    def __init__(self) -> None:
        self.refusal: tuple[int, str] = (404, json.dumps(NOT_FOUND))
        self.sessions: list[str] = []
        self.calls: list[str] = []
        self.keeps = True
        self.known: set[str] = set()
        self.lock = Lock()
        self.url = ""

    def forget(self) -> None:
        """Forget all sessions, as a restart does."""
        self.known.clear()

    def answer(self, session: str, message: dict[str, Any]) -> tuple[int, dict[str, str], str]:
        """Return status, headers and body for a message."""
        with self.lock:
            if message["method"] == "initialize":
                session = f"session-{len(self.sessions)}"
                self.sessions.append(session)
                self.known.add(session)
                return 200, {HEADER: session}, _pack(message, INITIALIZED)
            if "id" not in message:
                return 202, {}, ""
            if session not in self.known or (message["method"] == "tools/call" and not self.keeps):
                return self.refusal[0], {}, self.refusal[1]
            if message["method"] == "tools/list":
                return 200, {}, _pack(message, {"tools": [{"name": "t", "inputSchema": {}}]})
            if message["method"] == "tools/call":
                self.calls.append(session)
                return 200, {}, _pack(message, {"content": [{"type": "text", "text": "done"}]})
            return 200, {}, _pack(message, {})


INITIALIZED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "forgetful", "version": "1"},
}


def _pack(message: dict[str, Any], result: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})


@contextmanager
def serve() -> Iterator[ForgetfulServer]:
    """Run the server on a free port."""
    server = ForgetfulServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            message = json.loads(self.rfile.read(size))
            status, headers, body = server.answer(self.headers.get(HEADER, ""), message)
            self.send_response(status)
            is_json = body.startswith("{")
            kind = "application/json" if is_json else "text/plain"
            headers |= {"Content-Type": kind, "Content-Length": str(len(body))}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        def do_GET(self) -> None:
            self.send_error(405)

        def do_DELETE(self) -> None:
            self.send_error(405)

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_port}/mcp"
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
