"""The daemon as an MCP server, at ``/mcp`` by HTTP and for `orchestrator mcp`.

Both transports hand each message to `mcp_service`. Each agent is a tool, `operator_tools` are those
for chats and approvals, `trace_resources` are the turns. `protocol_eras` knows the versions of the
protocol. A message for an agent takes the usual path; `mcp_channel` is its channel.
"""
