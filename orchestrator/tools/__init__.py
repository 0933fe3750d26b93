"""The tools of agents, and the policy that decides which agent may use which tool.

`builtin` has the tools that the supervisor runs itself, `mcp` those of MCP servers.
"""
