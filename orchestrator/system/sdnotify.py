"""Notify systemd of the daemon's state (sd_notify(3)): ready, reloading, stopping, alive."""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

import anyio


class Notifier:
    """Writes to ``$NOTIFY_SOCKET``; does nothing when it is not set."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        microseconds = environ.get("WATCHDOG_USEC", "")
        ours = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        self.watchdog = int(microseconds) / 1e6 if microseconds.isdigit() and ours else None

    def send_state(self, *lines: str) -> None:
        """Send ``READY=1``, ``STATUS=…`` and the like; failures are ignored."""
        if not self._address:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock, suppress(OSError):
            sock.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
            sock.sendto("\n".join(lines).encode(), self._address)

    async def run(self) -> None:
        """Feed the watchdog from the event loop twice per period, until cancelled."""
        if self.watchdog is None:
            return
        while True:
            self.send_state("WATCHDOG=1")
            await anyio.sleep(self.watchdog / 2)
