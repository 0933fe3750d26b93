"""The supervisor process: it owns the journal, the channels and every child process.

A message passes through the folders in this order: `channels` receive it, `inbound` stores it,
`turns` run it in a worker from `processes`, `toolcalls` execute what its model asks for with the
`tools`, and `outbound` delivers the reply. Everything is recorded in the `journal`. An edit of
agents.json passes through `agentsfile` and `configuration`. `daemon` wires all parts together.
"""

from thinker.http.version import VERSION

__version__ = VERSION
