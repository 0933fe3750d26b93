"""Scheduled tasks: agents' tools, what fires due ones, and the turn that runs one."""
