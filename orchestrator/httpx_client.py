"""Post webhooks and telemetry with httpx, where no message waits.

Models and Telegram are called with `thinker.http`, which says why. Importing this module loads
httpx, which takes 80 ms and 4 MB; so import it in a thread, and only where a request is made.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import anyio

from orchestrator.errors import describe_cause
from thinker.http.exchange import BrokenAnswerError, ConnectError
from thinker.http.optional_imports import block_imports
from thinker.http.origin import UrlParts, find_proxy, parse_address
from thinker.http.tls import tls_context
from thinker.http.version import USER_AGENT

with block_imports("rich", "click"):  # httpx loads them for a command line of its own: 4 MB more
    import httpcore  # noqa: F401 - httpx would load it with the first request
    import httpx

logging.getLogger("httpx").setLevel(logging.WARNING)  # at info it logs addresses with their keys

CONNECT = 10.0  # seconds
MAX_BODY = 64 * 1024  # bytes of an answer that are read
BODY = 5.0  # seconds that they may take once the status is there
NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.ProxyError,
    httpx.LocalProtocolError,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
    UnicodeError,
)
HEADERS = {
    "user-agent": USER_AGENT,
    "accept-encoding": "identity",  # a few bytes could unpack to any size
    "connection": "close",  # bytes after an answer are never read as the next one
}


class HttpReply(NamedTuple):
    """A server's answer, with lower-case header names and up to `MAX_BODY` bytes of body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def post(
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    seconds: float,
    transport: httpx.AsyncBaseTransport | None = None,
) -> HttpReply:
    """Post a body once on a new connection; the server may act even if no answer comes.

    The environment names the proxy; no redirect is followed. ``transport`` stands for the network
    in tests.

    Raises:
        ConnectError: the request never reached the server.
        BrokenAnswerError: no answer came.
        TimeoutError: no answer came within ``seconds``.
    """
    proxy = find_proxy(parse_address(url).origin)
    async with httpx.AsyncClient(
        headers=HEADERS,
        timeout=httpx.Timeout(None, connect=CONNECT),
        verify=tls_context(),
        proxy=None if proxy is None else _as_httpx_proxy(proxy),
        trust_env=False,
        transport=transport,
    ) as client:
        try:
            request = client.build_request("POST", url, headers=dict(headers), content=body)
            with anyio.fail_after(seconds):
                response = await client.send(request, stream=True)
        except NOT_SENT as error:
            raise ConnectError(describe_cause(error)) from error
        except httpx.HTTPError as error:
            raise BrokenAnswerError(describe_cause(error)) from error
        return HttpReply(response.status_code, response.headers, await _read_start(response))


async def _read_start(response: httpx.Response) -> bytes:
    """Return the start of the body that arrives soon: the status is what counts."""
    body = bytearray()
    with anyio.move_on_after(BODY), suppress(httpx.HTTPError):
        async for piece in response.aiter_raw():
            body += piece
            if len(body) >= MAX_BODY:
                break
    return bytes(body[:MAX_BODY])


def _as_httpx_proxy(proxy: UrlParts) -> httpx.Proxy:
    url = f"{proxy.origin.scheme}://{proxy.origin.name}"
    headers = {"proxy-authorization": proxy.authorization} if proxy.authorization else None
    return httpx.Proxy(url, headers=headers)
