"""The worker's side of the broker: connections to it, over a channel that carries descriptors."""

import asyncio
import itertools
import os
import socket
from dataclasses import dataclass
from functools import cache, partial

from thinker.http.connections import HttpConnection

CALL_ID = "x-call-id"  # of a request: how the broker names the call to the supervisor
FAILURE = "x-broker-failure"  # of an answer: the error that the broker had instead of one


@dataclass(eq=False)
class BrokerLink:
    """A channel to the broker; ``read`` seconds bound each wait for data of its connections.

    For each connection the broker is sent one end of a new socketpair, so that a process without
    any network can use it. A broker that starts later finds it there.
    """

    channel: socket.socket
    read: float = 600.0

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)

    def new_call(self) -> str:
        """Return a name for a call that no other call of this process has."""
        return str(next(self._numbers))

    async def open(self) -> HttpConnection:
        """Open a connection to the broker.

        Raises:
            OSError: the channel is full or gone.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self.channel, [b"."], [theirs.fileno()], socket.MSG_DONTWAIT)
            except OSError:
                ours.close()
                raise
        ours.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
        make = partial(HttpConnection, self.read)
        _, connection = await asyncio.get_running_loop().create_connection(make, sock=ours)
        return connection


@cache
def broker_link(fd: int) -> BrokerLink:
    """Return the process's link over an inherited descriptor."""
    os.set_inheritable(fd, False)  # noqa: FBT003 - the standard library takes it by position
    return BrokerLink(socket.socket(fileno=fd))
