"""The tool host: a process of its own that holds the MCP client sessions (design §2)."""
