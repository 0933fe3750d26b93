"""The tool host: a separate process that holds the sessions with all MCP servers.

Only this process loads the MCP library. Killing or restarting it affects only calls in flight.
"""
