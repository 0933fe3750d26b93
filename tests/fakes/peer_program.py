"""A peer of bench_peers: an OpenAI-compatible endpoint that always says "done", and has a child."""

import json
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    """Healthy, and quick to answer."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Health."""
        self._answer({"status": "ok"})

    def do_POST(self) -> None:
        """A chat completion."""
        self.rfile.read(int(self.headers["content-length"]))
        self._answer({"choices": [{"message": {"content": "done"}}]})

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""

    def _answer(self, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    port = int(sys.argv[sys.argv.index("--port") + 1])
    with subprocess.Popen(["/bin/sleep", "600"], start_new_session=True) as child:
        Path(sys.argv[1]).write_text(str(child.pid), "ascii")
        ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
