"""``python -P -m orchestrator.broker``: started by the supervisor, ends with its socket."""

import faulthandler
import os
import resource
import signal
import socket
from contextlib import suppress

import anyio

from thinker.http.optional_imports import without

with without("rich", "click"):  # optional extras of structlog and httpx
    from orchestrator.broker import broker_wire
    from orchestrator.broker.broker_host import BrokerHost
    from thinker.http.client import tls_context
    from thinker.jail import hardening, kernel
    from thinker.protocol import logs
    from thinker.protocol.peer import connected

PR_SET_PDEATHSIG = 1  # linux/prctl.h


async def _serve(fd: int) -> None:
    host = BrokerHost(socket.socket(fileno=0))
    async with connected(socket.socket(fileno=fd), host.requests) as peer:
        await host.serve(peer)


def main() -> None:
    faulthandler.enable()  # SIGABRT from the supervisor prints where it hangs
    logs.configure(os.environ.get(broker_wire.LOG_VARIABLE, "info"))
    parent = os.getppid()
    kernel.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    hardening.harden()
    tls_context()  # before the first request waits for it
    with suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    anyio.run(_serve, int(os.environ[broker_wire.FD_VARIABLE]))


if __name__ == "__main__":
    main()
