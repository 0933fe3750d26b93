"""Tools: what agents can be offered, and the policy that decides which of them they get.

`builtin` has the tools that the supervisor runs itself, `mcp` those of MCP servers.
"""
