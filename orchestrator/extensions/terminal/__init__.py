"""``orchestrator chat``: a conversation at a terminal, with a prompt below the answers.

`repl` joins the line editor, the `transcript` on the screen and the `link` to the daemon.
"""
