"""The tools of agents, and the policy that decides which agent may use which tool.

`builtin` has the tools that the supervisor runs itself; `remote_tools` is what the core knows of
those of MCP servers, which an extension keeps.
"""
