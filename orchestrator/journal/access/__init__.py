"""Access: paired chats, and the pinned and latest definitions of MCP tools."""
