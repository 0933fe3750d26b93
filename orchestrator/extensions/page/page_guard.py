"""Refuse requests that the page never makes, and restrict what browsers may do with answers.

Where: are forged hosts and origins refused on the page?
"""

import re
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orchestrator.extensions.page.forwarded import FORWARDED, ForwardedClient, parse_forwarded
from orchestrator.extensions.page.page_wire import PageEntrance
from orchestrator.extensions.page.path_prefix import add_prefix, strip_prefix
from orchestrator.web.request_limits import RequestSlots

LOCAL_NAME = re.compile(r"(?:[a-z0-9-]+\.)*localhost|127\.0\.0\.1|\[::1\]", re.IGNORECASE)
MAX_REQUESTS = 32  # at a time, in addition to open streams
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " media-src 'self';"
    " manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types orchestrator"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(self), geolocation=()",
    "cache-control": "no-store",
}
LIMITED = frozenset({"/events", "/in"})  # have limits of their own
FOREIGN = (
    "this form was not sent from this page; open it again. A proxy must pass on the Host that the"
    " browser asked for"
)
Refusal = tuple[HTTPStatus, str]


class PageGuard:
    """ASGI middleware before the page; ``entrance`` has its names and path."""

    def __init__(self, app: ASGIApp, entrance: PageEntrance | None = None) -> None:
        self._app = app
        self._entrance = entrance or PageEntrance()
        self._names = {name.lower() for name in self._entrance.names}
        self._slots = RequestSlots(MAX_REQUESTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        send = add_headers(send)
        headers = Headers(scope=scope)
        came = parse_forwarded(
            scope, self._entrance, _parse_host_name(headers.get("host", "")) or ""
        )
        refused = self.find_refusal(scope["method"], headers, came) or self._check_path(
            scope["path"]
        )
        if refused is not None:
            await _build_refusal(*refused)(scope, receive, send)
            return
        scope = {**strip_prefix(scope, came.prefix), FORWARDED: came}
        send = add_prefix(send, came.prefix)
        if scope["path"] in LIMITED:
            await self._app(scope, receive, send)
            return
        with self._slots.take_slot() as free:
            busy = _build_refusal(HTTPStatus.SERVICE_UNAVAILABLE, "too many concurrent requests")
            await (self._app if free else busy)(scope, receive, send)

    def find_refusal(self, method: str, headers: Headers, came: ForwardedClient) -> Refusal | None:
        """Return the problem of a request's head, if any."""
        problem = self._check_host(headers, came)
        if problem is not None:
            return HTTPStatus.FORBIDDEN, problem
        if "transfer-encoding" in headers and "content-length" in headers:
            return HTTPStatus.BAD_REQUEST, "a request must have exactly one length"
        if method in ("GET", "HEAD"):
            return None
        if method != "POST":
            return HTTPStatus.METHOD_NOT_ALLOWED, "only GET and POST are served"
        sites = headers.getlist("sec-fetch-site")
        if any(site != "same-origin" for site in sites) or not self._is_same_origin(headers, sites):
            return HTTPStatus.FORBIDDEN, FOREIGN
        return None

    def _check_host(self, headers: Headers, came: ForwardedClient) -> str | None:
        """Return the problem of a host name that could be rebound to this address."""
        host = headers.get("host", "")
        name = _parse_host_name(host)
        if len(headers.getlist("host")) != 1 or name is None:
            return "a request must have exactly one Host"
        if LOCAL_NAME.fullmatch(name):
            return None
        if name not in self._names:
            return (
                f"{name} is not a name of this page; if a proxy with https serves it under this"
                " name, add it to channels.web.names in agents.json"
            )
        if not came.https:
            return (
                f"{name} was asked for without https; use a proxy with https that sets"
                " X-Forwarded-Proto, or 'ssh -L 8485:127.0.0.1:8485', or 'tailscale serve'"
            )
        return None

    def _check_path(self, path: str) -> Refusal | None:
        """Return the refusal of a path outside of the page's path."""
        prefix = self._entrance.path
        if f"{path}/".startswith(f"{prefix}/"):
            return None
        return HTTPStatus.NOT_FOUND, (
            f"the page begins at {prefix}/, as channels.web.path in agents.json says; a proxy has"
            " to pass on the whole path"
        )

    def _is_same_origin(self, headers: Headers, sites: list[str]) -> bool:
        """Return whether the sender is this page.

        Under "no-referrer" the Origin of a form is "null"; then the browser has to say that its
        site is the same, which it never does for a page of a sandbox or of another site.
        """
        origins, host = headers.getlist("origin"), headers.get("host", "").lower()
        if origins == ["null"]:
            return bool(sites)
        if len(origins) != 1:
            return False
        found = urlsplit(origins[0].lower())
        local = LOCAL_NAME.fullmatch(_parse_host_name(host) or "") is not None
        return found.netloc == host and found.scheme in (("http", "https") if local else ("https",))


def add_headers(send: Send) -> Send:
    """Return a ``send`` that adds missing `HEADERS` to every response."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers


def _parse_host_name(host: str) -> str | None:
    """Return the name in a Host header, without port, in lower case."""
    found = re.fullmatch(r"([a-z0-9.-]+|\[::1\])(?::[0-9]{1,5})?", host.lower())
    return None if found is None else found[1]


def _build_refusal(status: HTTPStatus, text: str) -> PlainTextResponse:
    """Build a refusal, which closes its connection: the rest may not be a request."""
    headers = {"retry-after": "1"} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    return PlainTextResponse(f"{text}\n", status, {"connection": "close", **headers})
