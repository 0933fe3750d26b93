"""``python -P -m orchestrator.toolhost``: started by the supervisor, ends with its socket."""

import faulthandler
import logging
import os
import socket
import sys

import anyio

from thinker.http.optional_imports import without

with without("rich", "click"):  # optional extras of structlog and the SDK: a tenth of the start
    import structlog

    from orchestrator.processes.reaper import Process, adopt_orphans, end_orphans, reap_orphans
    from orchestrator.toolhost import wire
    from orchestrator.toolhost.guardian import die_with
    from orchestrator.toolhost.host import ToolHost
    from thinker.protocol import logs
    from thinker.protocol.peer import connected

log = structlog.get_logger()


class _LibraryLog(logging.Handler):
    """Logs the SDK's messages at debug level: the sessions report failures themselves."""

    def emit(self, record: logging.LogRecord) -> None:
        log.debug("mcp_library", logger=record.name, text=record.getMessage())


async def _serve(fd: int) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reap_orphans, _is_guardian)
        host = ToolHost(tasks)
        async with connected(socket.socket(fileno=fd), host.requests) as peer:
            await host.serve(peer)
        tasks.cancel_scope.cancel()


def _is_guardian(process: Process) -> bool:
    """Return whether the transport reaps it; servers and their children have other sessions."""
    return process.session == os.getsid(0)


def main() -> None:
    faulthandler.enable()  # SIGABRT from the supervisor prints where it hangs
    logs.configure(os.environ.get(wire.LOG_VARIABLE, "info"))
    logging.basicConfig(handlers=[_LibraryLog()], level=logging.WARNING)
    logging.captureWarnings(capture=True)
    die_with(os.getppid())
    adopt_orphans()  # the children of a guardian that was killed
    anyio.run(_serve, int(os.environ[wire.FD_VARIABLE]))
    end_orphans()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # threads that wait for a server would keep the process alive
