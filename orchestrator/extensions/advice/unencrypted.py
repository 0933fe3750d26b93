"""Find secrets that would be sent unencrypted over a shared network."""

from orchestrator.agentsfile.channel_kinds import load_channel_kinds, split_account
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.plain_addresses import find_plain_host


def check_plain_addresses(draft: Draft) -> None:
    """Warn about each unencrypted address that receives a token, a key or headers."""
    kinds = load_channel_kinds()
    for name, section in draft.channels.hosted_channels.items():
        kind = kinds[split_account(name)[0]]
        options = section.format_options(kind) if section.enabled else {}
        for option, value in options.items():
            host = find_plain_host(value)
            if host is not None:
                draft.add_warning(
                    ("channels", name, option),
                    f"channel '{name}' sends its token and all messages unencrypted to {host}; use"
                    " https",
                )
    for name, server in draft.mcp_servers.items():
        host = find_plain_host(server.url or "")
        if host is not None and server.headers and server.is_enabled:
            draft.add_warning(
                ("mcpServers", name, "url"),
                f"MCP server '{name}' is sent its \"headers\" unencrypted, to {host}; use https",
            )
    for name, settings in draft.providers.items():
        host, key = find_plain_host(settings.base_url or ""), draft.known_providers[name].key_var
        if host is not None and key is not None:
            draft.add_warning(
                ("providers", name, "baseUrl"),
                f"provider '{name}' is sent {key} unencrypted, to {host}; use https",
            )
