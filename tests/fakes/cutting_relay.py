"""A way to a server that is cut at one of the things that a client sends."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

MOST = 1 << 20  # bytes that are passed on at once


class CuttingRelay:
    """Passes on what clients send to a server's socket, until `cut_at` cuts a connection, once."""

    def __init__(self, listener: socket.socket, path: str) -> None:
        self.port = int(listener.getsockname()[1])
        self._listener = listener
        self._path = path
        self._lock = threading.Lock()
        self._left = 0  # things that are sent until the cut; 0 for no cut
        self._is_answered = False

    @property
    def is_armed(self) -> bool:
        """Whether the cut is still to come."""
        return self._left > 0

    def cut_at(self, number: int, *, answered: bool) -> None:
        """Cut at the thing of this number that is sent from now on.

        It is lost, or it is ``answered`` and the answer is lost.
        """
        with self._lock:
            self._left, self._is_answered = number, answered

    def serve(self) -> None:
        """Take clients until the listener is closed."""
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._path)
            while True:
                readable, _, _ = select.select([client, server], [], [])
                for source in readable:
                    data = source.recv(MOST)
                    if not data:
                        return
                    if source is server:
                        client.sendall(data)
                    elif self._is_cut():
                        if self._is_answered:
                            server.sendall(data)
                            server.recv(MOST)
                        return
                    else:
                        server.sendall(data)

    def _is_cut(self) -> bool:
        with self._lock:
            self._left, before = max(0, self._left - 1), self._left
            return before == 1


@contextmanager
def cutting_relay(path: str) -> Iterator[CuttingRelay]:
    """One on loopback, before the server's socket at ``path``."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        relay = CuttingRelay(listener, path)
        threading.Thread(target=relay.serve, daemon=True).start()
        yield relay
        listener.shutdown(socket.SHUT_RDWR)
