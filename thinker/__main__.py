"""``python -P -m thinker``: one worker, told everything by its environment.

Started by a supervisor it serves the inherited socket; started by a person, stdin and stdout.
"""

import ctypes
import faulthandler
import os
import signal
import socket
import sys
from typing import Literal, TextIO

import anyio
import structlog

from thinker.agent import Agent
from thinker.errors import EXIT_CONFIG, ConfigError
from thinker.models.choose import choose, choose_small
from thinker.protocol import logs
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.peer import connected
from thinker.server import Server
from thinker.terminal import talk

PR_SET_PDEATHSIG = 1  # linux/prctl.h
EXIT_INTERRUPTED = 128 + signal.SIGINT  # as a shell reports Ctrl-C
log = structlog.get_logger()


def main() -> int:
    """Run the worker; the exit code is one of sysexits.h."""
    faulthandler.enable()  # SIGABRT from the supervisor prints where the worker hangs
    try:
        settings = ThinkerSettings.read(os.environ)
    except ValueError as error:
        sys.stderr.write(f"the environment of the worker is wrong; mend it:\n{error}\n")
        return EXIT_CONFIG
    logs.configure(settings.log_level)
    with logs.bound(agent_id=settings.agent_id):
        try:
            anyio.run(_serve, settings)
        except ConfigError as error:
            log.error("configuration", problem=str(error))  # noqa: TRY400 - the text says it all
            return EXIT_CONFIG
        except KeyboardInterrupt:
            return EXIT_INTERRUPTED
    return 0


async def _serve(settings: ThinkerSettings) -> None:
    model = choose(settings, os.environ)
    small = choose_small(settings, os.environ, model)
    agent = Agent(settings, model, small)
    try:
        if settings.peer_fd is None:
            await talk(agent, _utf8(0, "r"), _utf8(1, "w"))
        else:
            await _serve_socket(settings, agent)
    finally:
        await small.aclose()  # it is, or has in it, the agent's own model


def _utf8(fd: int, mode: Literal["r", "w"]) -> TextIO:
    """A standard stream as the wire wants it, whatever the locale says."""
    return open(fd, mode, encoding="utf-8", errors="replace", closefd=False)


async def _serve_socket(settings: ThinkerSettings, agent: Agent) -> None:
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return  # the supervisor died before it could be watched
    server = Server(agent)
    sock = socket.socket(fileno=settings.peer_fd)
    async with connected(sock, server.requests, server.notifications) as peer:
        await server.serve(peer, settings.llm_provider, settings.model, settings.heartbeat_seconds)


if __name__ == "__main__":
    # The supervisor saw end-of-file or killed us; there is nothing left to tidy up, and waiting
    # for threads that still read stdin would keep the process alive.
    code = main()
    sys.stdout.flush()
    os._exit(code)
