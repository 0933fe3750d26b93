"""Chat systems in channel folders, each in a jailed process of its own.

`hosted_channel` is the daemon's side of one account, `channel_host` is what its process runs, and
`testing` has the tests that every channel passes. A channel folder itself knows
`orchestrator.channelhost` alone.
"""
