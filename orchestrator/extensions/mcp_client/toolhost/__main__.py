"""The program of the tool host: started by the supervisor, ends with its socket."""

import faulthandler
import logging
import os
import socket
import sys
from collections.abc import Mapping

import anyio

from thinker.http.optional_imports import block_imports

with block_imports(
    "rich", "click"
):  # optional extras of structlog and the SDK: a tenth of the start
    import structlog

    from orchestrator.extensions.mcp_client.toolhost import wire
    from orchestrator.extensions.mcp_client.toolhost.guardian import die_with
    from orchestrator.extensions.mcp_client.toolhost.host import BY_HAND, ToolHost
    from orchestrator.extensions.mcp_client.toolhost.jail import enter_host_jail, list_own_folders
    from orchestrator.extensions.mcp_client.toolhost.jail_order import Surroundings
    from orchestrator.extensions.mcp_client.toolhost.server_jails import UNJAILED, ServerJails
    from orchestrator.processes.reaper import Process, adopt_orphans, end_orphans, reap_orphans
    from thinker.jail.hardening import harden_process
    from thinker.protocol import logs
    from thinker.protocol.peer import connect_peer
    from thinker.protocol.sandbox import SandboxReport

OFF = 'agents.json has "sandbox": "off"'

log = structlog.get_logger()


class _LibraryLog(logging.Handler):
    """Logs the SDK's messages at debug level: the sessions report failures themselves."""

    def emit(self, record: logging.LogRecord) -> None:
        log.debug("mcp_library", logger=record.name, text=record.getMessage())


async def _serve_supervisor(fd: int, sandbox: SandboxReport, jails: ServerJails) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reap_orphans, _is_guardian)
        host = ToolHost(tasks, sandbox, jails)
        async with connect_peer(socket.socket(fileno=fd), host.requests) as peer:
            await host.serve_peer(peer)
        tasks.cancel_scope.cancel()


def _is_guardian(process: Process) -> bool:
    """Return whether the transport reaps a process; servers' sessions are other ones."""
    return process.session == os.getsid(0)


def _confine_process(environ: Mapping[str, str]) -> tuple[SandboxReport, ServerJails]:
    """Close this process's own jail; return it, and the jails of servers."""
    home, mode = environ.get(wire.HOME_VARIABLE), environ.get(wire.SANDBOX_VARIABLE, "auto")
    if home is None:
        return BY_HAND, UNJAILED
    if mode == "off":
        return SandboxReport("off", OFF), UNJAILED
    around = Surroundings.from_environment(home, environ, environ.get(wire.CONFIG_VARIABLE, ""))
    for folder in list_own_folders(around.home):
        folder.mkdir(mode=0o700, exist_ok=True)
    supervisor = os.getppid()
    return enter_host_jail(around, supervisor), ServerJails(around, supervisor, mode == "required")


def main() -> None:
    harden_process()
    faulthandler.enable()  # SIGABRT from the supervisor prints where it hangs
    logs.configure_logging(os.environ.get(wire.LOG_VARIABLE, "info"))
    logging.basicConfig(handlers=[_LibraryLog()], level=logging.WARNING)
    logging.captureWarnings(capture=True)
    die_with(os.getppid())
    adopt_orphans()  # the children of a guardian that was killed
    sandbox, jails = _confine_process(os.environ)
    anyio.run(_serve_supervisor, int(os.environ[wire.FD_VARIABLE]), sandbox, jails)
    end_orphans()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # threads that wait for a server would keep the process alive
