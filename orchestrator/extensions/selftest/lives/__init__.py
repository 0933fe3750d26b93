"""Several lives on one journal, in virtual time: daemons that share agents, and a model of locks.

What shares is the product's own: placer, writing session, writer and store. The server is SQLite
with a model of the locks of sessions, which go when a session ends. Whatever commits rows of an
agent without its lock, or from what it knew before another one worked, is found.
"""
