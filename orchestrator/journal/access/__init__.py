"""Who and what was let in: paired chats, and pinned tool definitions."""
