"""Addresses to which secrets would go unencrypted, over a network that others may listen to."""

import ipaddress
import re
from urllib.parse import urlsplit

from orchestrator.agentsfile.channel_kinds import channel_kinds
from orchestrator.agentsfile.draft import Draft

# Of one machine or one network; a name without a dot is never one of the internet.
PRIVATE_NAME = re.compile(
    r"[^.]+|.*\.(local|localhost|internal|lan|home\.arpa|test)", re.IGNORECASE
)


def plain_host(url: str) -> str | None:
    """Return the host of an address without encryption; None if it is encrypted or near by."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        return None
    try:
        near = not ipaddress.ip_address(parts.hostname).is_global
    except ValueError:
        near = PRIVATE_NAME.fullmatch(parts.hostname) is not None
    return None if near else parts.hostname


def check_plain(draft: Draft) -> None:
    """Warn of each address that is sent a token, a key or headers without encryption."""
    for name, kind in channel_kinds().items():
        section = draft.channels.hosted.get(name)
        options = section.options(kind) if section is not None and section.enabled else {}
        for option, value in options.items():
            host = plain_host(value)
            if host is not None:
                draft.warn(
                    ("channels", name, option),
                    f"channel '{name}' sends its token and all messages unencrypted to {host}; use"
                    " https",
                )
    for name, server in draft.mcp_servers.items():
        host = plain_host(server.url or "")
        if host is not None and server.headers and server.runs:
            draft.warn(
                ("mcpServers", name, "url"),
                f"MCP server '{name}' is sent its \"headers\" unencrypted, to {host}; use https",
            )
    for name, settings in draft.providers.items():
        host, key = plain_host(settings.base_url or ""), draft.known_providers[name].key_var
        if host is not None and key is not None:
            draft.warn(
                ("providers", name, "baseUrl"),
                f"provider '{name}' is sent {key} unencrypted, to {host}; use https",
            )
