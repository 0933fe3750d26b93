"""httpx, for those who do not use `thinker.http.web_client` yet."""

import httpx

from thinker.http.tls import tls_context
from thinker.http.version import USER_AGENT

HttpClient = httpx.AsyncClient
HttpTransport = httpx.AsyncBaseTransport
HttpRequest = httpx.Request
HttpResponse = httpx.Response
HttpError = httpx.HTTPError
HttpUrl = httpx.URL

# Failures before a request can have reached the server: repeating it is always safe.
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
    """Open a client with kept-alive connections; timeouts in seconds, redirects not followed."""
    return httpx.AsyncClient(
        base_url=base_url,
        headers={"user-agent": USER_AGENT},
        timeout=httpx.Timeout(read, connect=connect, pool=connect),
        transport=transport,
        verify=tls_context(),
    )
