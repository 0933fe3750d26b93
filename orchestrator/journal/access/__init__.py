"""Access: paired chats, and pinned definitions of MCP tools."""
