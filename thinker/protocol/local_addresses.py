"""Tell by its address whether a model server is local, which decides how long it may take."""

from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

# Names of home networks (RFC 6762, RFC 8375, RFC 9476) and of containers' hosts.
LOCAL_ENDINGS = (".local", ".lan", ".home.arpa", ".internal", ".localhost")


@lru_cache(maxsize=64)
def is_local_address(url: str) -> bool:
    """Return whether a URL names this machine or its own network; no name is looked up.

    These are loopback, private (RFC 1918, RFC 4193) and link-local addresses, names such as
    ``box.local``, and names without a dot.
    """
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    try:
        found = ip_address(host.partition("%")[0])
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(LOCAL_ENDINGS))
    return found.is_loopback or found.is_private or found.is_link_local
