"""The tool host: a process of its own that holds the sessions with all MCP servers.

It alone loads the MCP library. It can be killed and restarted; only calls in flight notice.
"""
