"""What a proxy on this machine says about the browser before it."""

import ipaddress
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import Scope

from orchestrator.page_wire import PageEntrance

FORWARDED = "orchestrator.forwarded"  # key of a scope


@dataclass(frozen=True)
class Forwarded:
    """How a browser came; nothing is known of one without a proxy.

    ``prefix`` is where the page begins for it, ``client`` its address, and ``person`` whom the
    proxy has authenticated.
    """

    prefix: str = ""
    https: bool = False
    client: str = ""
    person: str = ""


def forwarded(scope: Scope, entrance: PageEntrance, name: str) -> Forwarded:
    """Return what the head of a request says; ``name`` is the host that it asks for.

    Headers count from a proxy on this machine alone, and only once: a second one may be the
    browser's own.
    """
    if not (entrance.proxied and _near(scope)):
        return Forwarded(entrance.path)
    headers = Headers(scope=scope)
    https = _only(headers, "x-forwarded-proto").lower() == "https"
    person = ""
    if https and entrance.identity_header and name in map(str.lower, entrance.names):
        person = _only(headers, entrance.identity_header)
    return Forwarded(entrance.path, https, _client(headers), person)


def forwarded_of(scope: Scope) -> Forwarded:
    """Return what `forwarded` found for a request that the guard has let through."""
    found: Forwarded = scope[FORWARDED]
    return found


def _near(scope: Scope) -> bool:
    """Return whether a request came by the unix socket, or from an address of this machine."""
    client = scope.get("client")
    return client is None or ipaddress.ip_address(client[0]).is_loopback


def _only(headers: Headers, name: str) -> str:
    """Return the value of a header that was sent once, or an empty text."""
    found = headers.getlist(name)
    return found[0].strip() if len(found) == 1 else ""


def _client(headers: Headers) -> str:
    """Return the address that the proxy itself has seen, which it adds at the end."""
    last = ",".join(headers.getlist("x-forwarded-for")).rpartition(",")[2].strip()
    try:
        return str(ipaddress.ip_address(last))
    except ValueError:
        return ""
