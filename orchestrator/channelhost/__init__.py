"""The channel host: a process for one chat system whose library is foreign, in a jail.

Each folder here is a chat system: `channel.json` says what it is (see
`orchestrator.agentsfile.channel_kinds`), and a module ``<folder>_channel`` has its
`ForeignChannel`. The supervisor imports none of them; it talks to the process over `channel_wire`.
"""
