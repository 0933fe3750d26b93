"""A web server on loopback with honest and hostile pages."""

import gzip
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

ARTICLE = b"""<!doctype html><html><head><title>News &amp; more</title><script>var a</script></head>
<body><nav><a href="/x">Home</a></nav><article><h1>Headline</h1><p>The first paragraph has
<a href="https://example.org/">a link</a>.</p><ul><li>one</li><li>two</li></ul></article>
<footer>Imprint</footer></body></html>"""
LATIN = "<title>Grüße</title><p>Draußen ist es schön.</p>".encode("latin-1")
PAGES: dict[str, tuple[str, bytes]] = {
    "/article": ("text/html; charset=utf-8", ARTICLE),
    "/latin": ("text/html; charset=iso-8859-1", LATIN),
    "/json": ("application/json", b'{"a": [1]}'),
    "/plain": ("text/plain", b"just text"),
    "/pdf": ("application/pdf", b"%PDF-1.7"),
    "/deep": ("text/html", b"<div>" * 200_000),
    "/long": ("text/plain", b"0123456789" * 10_000),
    "/endless": ("text/plain", b"x" * 3_000_000),
}
BOMB = gzip.compress(b"0" * 50_000_000, 1)


class _Pages(BaseHTTPRequestHandler):
    """Serves `PAGES`, redirects from ``/to?URL``, and misbehaves."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(f"{self.headers['Host']} {self.path}")
        path, _, query = self.path.partition("?")
        if path == "/to":
            self._answer(302, "text/html", b"", Location=query)
        elif path == "/search":
            found = [{"title": "A\npage", "url": "https://example.org/", "content": query}]
            self._answer(200, "application/json", json.dumps({"results": found}).encode())
        elif path == "/bomb":
            self._answer(200, "text/plain", BOMB, **{"Content-Encoding": "gzip"})
        elif path == "/short":
            self._answer(200, "text/plain", b"half", **{"Content-Length": "8"})
        elif path == "/drip":
            self._drip()
        elif path in PAGES:
            self._answer(200, *PAGES[path])
        else:
            self._answer(404, "text/plain", b"not here")

    def _answer(self, status: int, kind: str, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    def _drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b"x")
                self.wfile.flush()
                threading.Event().wait(0.05)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def web_pages(tls: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[str]]]:
    """Serve the pages; yield the port and what was asked for, as ``HOST PATH``."""
    _Pages.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    if tls is not None:
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1], _Pages.asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
