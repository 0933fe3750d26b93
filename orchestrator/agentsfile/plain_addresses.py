"""Find addresses to which secrets would be sent unencrypted over a shared network."""

import ipaddress
import re
from urllib.parse import urlsplit

# Names of one machine or network; a name without a dot is never on the internet.
PRIVATE_NAME = re.compile(
    r"[^.]+|.*\.(local|localhost|internal|lan|home\.arpa|test)", re.IGNORECASE
)


def find_plain_host(url: str) -> str | None:
    """Return the host of an unencrypted remote address; None if it is encrypted or local."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        return None
    try:
        near = not ipaddress.ip_address(parts.hostname).is_global
    except ValueError:
        near = PRIVATE_NAME.fullmatch(parts.hostname) is not None
    return None if near else parts.hostname
