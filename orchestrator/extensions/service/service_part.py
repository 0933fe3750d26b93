"""Restart the daemon on request: by its service manager, or by executing it anew.

Where: does the daemon restart?
"""

import atexit
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Literal

import anyio
import structlog
from pydantic import JsonValue

from orchestrator.control.camel_model import CamelModel
from orchestrator.extension import DaemonView, Part
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError

DAEMON_RESTART = "daemon/restart"  # → Restart
ANSWER = 0.5  # seconds for the answer to reach a browser before the page ends with the daemon
MANAGED = "the daemon stops at the next steps of its turns, and systemd starts it again in seconds"
ANEW = "the daemon stops at the next steps of its turns, and starts again at once"
STARTED_OTHERWISE = (
    "another program started this daemon, and only that can start it again; restart it there"
)
log = structlog.get_logger()


class Restart(CamelModel):
    """A restart that begins now, in a sentence."""

    text: str


class ServicePart(Part):
    """Restarts the daemon."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._restarts = False

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        return {DAEMON_RESTART: self._restart}

    async def _restart(self, params: JsonValue) -> Restart:
        del params
        environ = self.daemon.configuration.environment
        way = find_way(environ, sys.orig_argv)
        if way is None:
            raise RpcError(FAILED, STARTED_OTHERWISE)
        if not self._restarts:
            self._restarts = True
            if way == "anew":
                # Runs when the journal is closed and the lock released, and before all that was
                # registered earlier, which a new program in this process leaves out.
                atexit.register(_execute_anew, sys.executable, sys.orig_argv, dict(environ))
            self.daemon.tasks.start_soon(_stop_soon)
        return Restart(text=MANAGED if way == "systemd" else ANEW)


def find_way(
    environ: Mapping[str, str], command: Sequence[str]
) -> Literal["systemd", "anew"] | None:
    """Return what would start the daemon again; None if it cannot be known.

    Under systemd the unit starts it again. A process that has told systemd that it stops cannot go
    on as a new daemon: systemd would kill it.
    """
    if environ.get("NOTIFY_SOCKET"):
        return "systemd"
    return "anew" if "run" in command[1:] else None


async def _stop_soon() -> None:
    await anyio.sleep(ANSWER)
    log.info("restarting")
    signal.raise_signal(signal.SIGTERM)


def _execute_anew(program: str, command: Sequence[str], environ: Mapping[str, str]) -> None:
    """Replace this process by a new daemon; the secrets that it got are handed on."""
    os.execve(program, [*command], {**os.environ, **environ})  # noqa: S606 - its own command line
