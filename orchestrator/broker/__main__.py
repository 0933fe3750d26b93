"""``python -P -m orchestrator.broker``: started by the supervisor, ends with its socket."""

import faulthandler
import gc
import os
import resource
import socket
from contextlib import suppress
from pathlib import Path

import anyio

from thinker.http.optional_imports import block_imports

with block_imports("rich", "click"):  # optional extras of structlog and others
    from orchestrator.broker import broker_wire
    from orchestrator.broker.broker_host import BrokerHost
    from thinker.http.tls import tls_context
    from thinker.jail import kernel
    from thinker.jail.worker_jail import prepare_jail
    from thinker.protocol import logs
    from thinker.protocol.peer import connect_peer
    from thinker.protocol.sandbox import SandboxReport


async def _serve_broker(fd: int, sandbox: SandboxReport) -> None:
    host = BrokerHost(socket.socket(fileno=0), sandbox)
    async with connect_peer(socket.socket(fileno=fd), host.requests, host.notifications) as peer:
        await host.serve_supervisor(peer)


def main() -> None:
    faulthandler.enable()  # SIGABRT from the supervisor prints where it hangs
    logs.configure_logging(os.environ.get(broker_wire.LOG_VARIABLE, "info"))
    kernel.die_with_parent(os.getppid())
    tls_context()  # now: the first request need not wait, and the jail hides the files later
    with suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    own = [Path(path) for path in os.environ.get("SSL_CERT_DIR", "").split(os.pathsep) if path]
    jail = prepare_jail(network=True, unix=True, files=None).close_jail(own, Path.cwd())
    gc.freeze()  # freed memory must not keep what exists now
    anyio.run(_serve_broker, int(os.environ[broker_wire.FD_VARIABLE]), jail.report)


if __name__ == "__main__":
    main()
