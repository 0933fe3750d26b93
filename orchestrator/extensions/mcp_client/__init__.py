"""MCP client: the tools of the MCP servers that agents.json names and that extensions bring.

`servers` runs the tool host and calls tools, `mcp_tools` turns the servers' definitions into
specifications, and `pins` withholds a tool whose definition changed until an operator approves it.
`toolhost` is a process of its own, which alone loads the MCP library.
"""
