"""The control socket: how the command line sees and commands a running daemon.

`protocol` has the methods and their values, `control_server` answers them, `operations` and
`status` do the work. The `console` channel carries the chats of ``orchestrator chat`` and
``send``.
"""
