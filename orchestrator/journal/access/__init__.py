"""Access: paired chats, and the pinned and last definitions of MCP tools."""
