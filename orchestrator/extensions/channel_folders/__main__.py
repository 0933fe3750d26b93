"""The process of one channel: started by the supervisor with a name, ends with its socket.

The process has its channel's secrets and a network; files, programs and other processes are out of
its reach before the first byte of the platform is read.
"""

import faulthandler
import gc
import importlib
import logging
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import anyio
import orjson
import structlog

from orchestrator.agentsfile.channel_kinds import load_channel_kinds, split_account
from orchestrator.channelhost import channel_wire as wire
from orchestrator.channelhost.foreign_channel import Connect
from orchestrator.extensions.channel_folders.channel_host import ChannelHost
from orchestrator.installed import find_channel_module
from thinker.http.tls import tls_context
from thinker.jail import kernel
from thinker.jail.worker_jail import prepare_jail
from thinker.protocol import logs
from thinker.protocol.peer import connect_peer
from thinker.protocol.sandbox import SandboxReport

log = structlog.get_logger()


class _LibraryLog(logging.Handler):
    """Logs the library's messages at debug level: the host reports failures itself."""

    def emit(self, record: logging.LogRecord) -> None:
        log.debug("channel_library", logger=record.name, text=record.getMessage())


async def _serve_channel(
    connect: Connect, secrets: Mapping[str, str], sandbox: SandboxReport, wire_socket: socket.socket
) -> None:
    options = orjson.loads(os.environ.get(wire.OPTIONS_VARIABLE, "{}"))
    host = ChannelHost(connect(options, secrets), sandbox)
    async with connect_peer(wire_socket, host.requests) as peer:
        await host.serve_peer(peer)


def _run_channel(name: str, wire_socket: socket.socket) -> None:
    system, _ = split_account(name)
    module = importlib.import_module(find_channel_module(system))
    if not hasattr(module, "connect"):
        raise ImportError(f"{module.__name__} has no `connect`")
    secrets = {secret: os.environ[secret] for secret in load_channel_kinds()[system].secrets}
    tls_context()  # before its files are out of reach
    jail = prepare_jail(network=True, files=None).close_jail((), Path.cwd())
    gc.freeze()  # what is there now stays
    anyio.run(_serve_channel, module.connect, secrets, jail.report, wire_socket)


def main(name: str) -> None:
    faulthandler.enable()  # SIGABRT from the supervisor prints where it hangs
    logs.configure_logging(os.environ.get(wire.LOG_VARIABLE, "info"))
    logging.basicConfig(handlers=[_LibraryLog()], level=logging.INFO)
    logging.captureWarnings(capture=True)
    kernel.die_with_parent(os.getppid())
    structlog.contextvars.bind_contextvars(channel=name)
    wire_socket = socket.socket(fileno=int(os.environ[wire.FD_VARIABLE]))
    try:
        _run_channel(name, wire_socket)
    except (Exception, SystemExit) as error:  # a stranger's code may raise anything
        why = wire.ChannelState(state="starting", detail=f"{type(error).__name__}: {error}"[:1000])
        frame = {"jsonrpc": "2.0", "method": wire.STATE, "params": why.model_dump()}
        with suppress(OSError):  # the socket is closed if it began to work
            wire_socket.sendall(orjson.dumps(frame) + b"\n")
        raise


if __name__ == "__main__":
    main(sys.argv[1])
