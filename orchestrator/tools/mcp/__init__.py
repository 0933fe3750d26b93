"""Tools of MCP servers, as the supervisor sees them.

`servers` runs the tool host and calls tools, `mcp_tools` turns the servers' definitions into
specifications, and `pins` withholds a tool whose definition changed until an operator approves it.
"""
