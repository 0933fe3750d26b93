"""Read what a local proxy says about the browser behind it.

Where: is a proxy in front of the page trusted?
"""

import ipaddress
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import Scope

from orchestrator.extensions.page.page_wire import PageEntrance

FORWARDED = "orchestrator.forwarded"  # key of a scope


@dataclass(frozen=True)
class ForwardedClient:
    """How a browser connected; nothing is known without a proxy.

    ``prefix`` is the page's path for the browser, ``client`` the browser's address, and ``person``
    the one whom the proxy has authenticated.
    """

    prefix: str = ""
    https: bool = False
    client: str = ""
    person: str = ""


def parse_forwarded(scope: Scope, entrance: PageEntrance, name: str) -> ForwardedClient:
    """Parse the head of a request; ``name`` is the requested host.

    Headers count only from a proxy on this machine, and only if unique: a second one may be the
    browser's own.
    """
    if not (entrance.proxied and _is_local_peer(scope)):
        return ForwardedClient(entrance.path)
    headers = Headers(scope=scope)
    https = _get_single_header(headers, "x-forwarded-proto").lower() == "https"
    person = ""
    if https and entrance.identity_header and name in map(str.lower, entrance.names):
        person = _get_single_header(headers, entrance.identity_header)
    return ForwardedClient(entrance.path, https, _parse_client_address(headers), person)


def get_forwarded(scope: Scope) -> ForwardedClient:
    """Return the result of `parse_forwarded` for an admitted request."""
    found: ForwardedClient = scope[FORWARDED]
    return found


def _is_local_peer(scope: Scope) -> bool:
    """Return whether a request came over the unix socket or from a local address."""
    client = scope.get("client")
    return client is None or ipaddress.ip_address(client[0]).is_loopback


def _get_single_header(headers: Headers, name: str) -> str:
    """Return the value of a header that was sent once, or an empty string."""
    found = headers.getlist(name)
    return found[0].strip() if len(found) == 1 else ""


def _parse_client_address(headers: Headers) -> str:
    """Return the address that the proxy itself saw and appended."""
    last = ",".join(headers.getlist("x-forwarded-for")).rpartition(",")[2].strip()
    try:
        return str(ipaddress.ip_address(last))
    except ValueError:
        return ""
