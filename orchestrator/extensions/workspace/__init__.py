"""The bundled tool servers: `workspace` for files and commands, `web` for pages and searches.

An agent that has one gets a process of its own from the tool host, like any other MCP server.
`agent_servers` turns the settings of agents.json into servers. The modules that those processes
load import only the standard library, `thinker.jail` and `orchestrator.jail_broker`: the MCP
library would cost 45 MB and half a second for each.
"""
