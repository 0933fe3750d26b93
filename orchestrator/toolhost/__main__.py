"""``python -P -m orchestrator.toolhost``: started by the supervisor, ends with its socket."""

import faulthandler
import logging
import os
import socket
import sys
from collections.abc import Mapping

import anyio

from thinker.http.optional_imports import without

with without("rich", "click"):  # optional extras of structlog and the SDK: a tenth of the start
    import structlog

    from orchestrator.processes.reaper import Process, adopt_orphans, end_orphans, reap_orphans
    from orchestrator.toolhost import wire
    from orchestrator.toolhost.guardian import die_with
    from orchestrator.toolhost.host import BY_HAND, ToolHost
    from orchestrator.toolhost.jail import enter_host, own_folders
    from orchestrator.toolhost.jail_order import Surroundings
    from orchestrator.toolhost.server_jails import UNJAILED, ServerJails
    from thinker.jail.hardening import harden
    from thinker.protocol import logs
    from thinker.protocol.peer import connected
    from thinker.protocol.sandbox import SandboxReport

OFF = 'agents.json has "sandbox": "off"'

log = structlog.get_logger()


class _LibraryLog(logging.Handler):
    """Logs the SDK's messages at debug level: the sessions report failures themselves."""

    def emit(self, record: logging.LogRecord) -> None:
        log.debug("mcp_library", logger=record.name, text=record.getMessage())


async def _serve(fd: int, sandbox: SandboxReport, jails: ServerJails) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reap_orphans, _is_guardian)
        host = ToolHost(tasks, sandbox, jails)
        async with connected(socket.socket(fileno=fd), host.requests) as peer:
            await host.serve(peer)
        tasks.cancel_scope.cancel()


def _is_guardian(process: Process) -> bool:
    """Return whether the transport reaps it; servers and their children have other sessions."""
    return process.session == os.getsid(0)


def _confined(environ: Mapping[str, str]) -> tuple[SandboxReport, ServerJails]:
    """Close this process's own jail; return it, and the jails of servers."""
    home, mode = environ.get(wire.HOME_VARIABLE), environ.get(wire.SANDBOX_VARIABLE, "auto")
    if home is None:
        return BY_HAND, UNJAILED
    if mode == "off":
        return SandboxReport("off", OFF), UNJAILED
    around = Surroundings.of(home, environ, environ.get(wire.CONFIG_VARIABLE, ""))
    for folder in own_folders(around.home):
        folder.mkdir(mode=0o700, exist_ok=True)
    supervisor = os.getppid()
    return enter_host(around, supervisor), ServerJails(around, supervisor, mode == "required")


def main() -> None:
    harden()
    faulthandler.enable()  # SIGABRT from the supervisor prints where it hangs
    logs.configure(os.environ.get(wire.LOG_VARIABLE, "info"))
    logging.basicConfig(handlers=[_LibraryLog()], level=logging.WARNING)
    logging.captureWarnings(capture=True)
    die_with(os.getppid())
    adopt_orphans()  # the children of a guardian that was killed
    sandbox, jails = _confined(os.environ)
    anyio.run(_serve, int(os.environ[wire.FD_VARIABLE]), sandbox, jails)
    end_orphans()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # threads that wait for a server would keep the process alive
