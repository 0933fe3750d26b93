"""``python -P -m orchestrator.channelhost NAME``: started by the supervisor, ends with its socket.

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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import anyio
import orjson
import structlog

from orchestrator.agentsfile.channel_kinds import load_channel_kinds
from orchestrator.channelhost import channel_wire as wire
from orchestrator.channelhost.channel_host import ChannelHost
from orchestrator.channelhost.foreign_channel import Connect
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


@contextmanager
def _report_fault(wire_socket: socket.socket) -> Iterator[None]:
    """Tell the supervisor why the channel cannot start, before the process ends."""
    try:
        yield
    except (Exception, SystemExit) as error:  # a stranger's code may raise anything
        detail = f"{type(error).__name__}: {error}"[:1000]
        report = wire.ChannelState(state="starting", detail=detail).model_dump()
        frame = {"jsonrpc": "2.0", "method": wire.STATE, "params": report}
        wire_socket.sendall(orjson.dumps(frame) + b"\n")
        raise


def _load_channel(name: str) -> tuple[Connect, Mapping[str, str]]:
    module = importlib.import_module(find_channel_module(name))
    connect: Connect | None = getattr(module, "connect", None)
    if connect is None:
        raise ImportError(f"{module.__name__} has no `connect`")
    return connect, {key: os.environ[key] for key in load_channel_kinds()[name].secrets}


async def _serve_channel(
    connect: Connect,
    secrets: Mapping[str, str],
    sandbox: SandboxReport,
    wire_socket: socket.socket,
) -> None:
    options = orjson.loads(os.environ.get(wire.OPTIONS_VARIABLE, "{}"))
    with _report_fault(wire_socket):
        host = ChannelHost(connect(options, secrets), sandbox)
    async with connect_peer(wire_socket, host.requests) as peer:
        await host.serve_peer(peer)


def main(name: str) -> None:
    faulthandler.enable()  # SIGABRT from the supervisor prints where it hangs
    logs.configure_logging(os.environ.get(wire.LOG_VARIABLE, "info"))
    logging.basicConfig(handlers=[_LibraryLog()], level=logging.INFO)
    logging.captureWarnings(capture=True)
    kernel.die_with_parent(os.getppid())
    structlog.contextvars.bind_contextvars(channel=name)
    wire_socket = socket.socket(fileno=int(os.environ[wire.FD_VARIABLE]))
    with _report_fault(wire_socket):
        connect, secrets = _load_channel(name)
    tls_context()  # before its files are out of reach
    jail = prepare_jail(network=True, files=None).close_jail((), Path.cwd())
    gc.freeze()  # what is there now stays
    anyio.run(_serve_channel, connect, secrets, jail.report, wire_socket)


if __name__ == "__main__":
    main(sys.argv[1])
