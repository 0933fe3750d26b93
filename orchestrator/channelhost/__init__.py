"""The interface between a channel folder and the process that runs it.

Each channel folder is a chat system: `channel.json` describes it (see
`orchestrator.agentsfile.channel_kinds`), and a module ``<folder>_channel`` has its
`ForeignChannel`. The supervisor imports none of them; it talks to the process over `channel_wire`.
"""
