"""Turns: from a stored message to a committed reply.

The `dispatcher` keeps one queue per chat, the `opener` admits a message (T2), and the `turn_runner`
has a worker run it until it ends (T6) or must wait (`suspension`). `turn_inputs` reads what the
worker needs; `turn_host` answers what it asks for. Other
kinds of turns, such as those of tasks, are the same path with another recipe of an extension.
"""
