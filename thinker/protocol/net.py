"""The one module that imports the HTTP client.

httpx 0.28 is the last release of its line and httpx2 continues it with the same interface, so
the whole project reaches the client through the names below.
"""

import ssl
from functools import cache

import httpx

HttpClient = httpx.AsyncClient
HttpTransport = httpx.AsyncBaseTransport
HttpResponse = httpx.Response
HttpError = httpx.HTTPError

# Failures before a request can have reached the other side: repeating it is always safe.
NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
)


def open_client(
    base_url: str = "",
    *,
    connect: float = 10.0,
    read: float = 60.0,
    transport: HttpTransport | None = None,
) -> HttpClient:
    """A client that keeps its connections alive; timeouts in seconds, redirects not followed."""
    return httpx.AsyncClient(
        base_url=base_url,
        timeout=httpx.Timeout(read, connect=connect, pool=connect),
        transport=transport,
        verify=tls_context(),
    )


@cache
def tls_context() -> ssl.SSLContext:
    """The certificates that we trust, read once: it takes longer than all the rest of a client.

    Processes that are forked from this one inherit it.
    """
    return httpx.create_ssl_context()
