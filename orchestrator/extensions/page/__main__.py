"""The page's process, started by the supervisor; the process ends when its socket closes."""

import faulthandler
import gc
import os
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

from orchestrator.extensions.page.absent_modules import leave_out_modules

# Of uvicorn, its command line and its settings of logs (2 MB of memory), and TLS, which is not for
# this process: without it and OpenSSL's hashes, for which Python has its own, OpenSSL stays out
# (4 MB). The others are optional extras of structlog, uvicorn and starlette.
LEFT_OUT = ("uvicorn.main", "click", "logging.config", "ssl")
MISSING = ("_hashlib", "rich", "greenlet", "dotenv", "watchfiles")

with leave_out_modules(*LEFT_OUT, missing=MISSING):
    import anyio
    import anyio._backends._asyncio  # which anyio loads when it runs, and with it TLS

    from orchestrator.errors import JournalError
    from orchestrator.extensions.page.code_pages import CodePages, list_code_pages, release_memory
    from orchestrator.extensions.page.descriptor_channel import DescriptorChannel
    from orchestrator.extensions.page.jailed_journal import enter_jail
    from orchestrator.extensions.page.live import LiveFeed
    from orchestrator.extensions.page.page_app import PageApp
    from orchestrator.extensions.page.page_guard import PageGuard
    from orchestrator.extensions.page.page_wire import (
        ENTRANCE_VARIABLE,
        FD_VARIABLE,
        LOG_VARIABLE,
        PageEntrance,
    )
    from orchestrator.extensions.page.screens import load_shared_content
    from orchestrator.home_paths import Paths
    from orchestrator.journal.db.store import report_failure
    from orchestrator.journal.engine import PageReads
    from orchestrator.web.http_server import serve_app
    from thinker.jail import kernel
    from thinker.protocol import logs
    from thinker.protocol.liveness import answer_pings
    from thinker.protocol.methods import Ready
    from thinker.protocol.peer import Peer, connect_peer
    from thinker.protocol.sandbox import SandboxReport

NICENESS = 10  # agents go first, however many look at the page
IDLE_SECONDS = 900.0  # after the last request
CHECK_SECONDS = 5.0  # between two checks of that


@dataclass
class LastUse:
    """When the page last got a request, in seconds of `time.monotonic`."""

    at: float = field(default_factory=time.monotonic)

    def mark_used(self) -> None:
        self.at = time.monotonic()


async def _serve_page(
    wire: socket.socket,
    reads: PageReads,
    sandbox: SandboxReport,
    code: Sequence[CodePages],
    entrance: PageEntrance,
    zone: ZoneInfo,
) -> None:
    async with connect_peer(wire) as peer:
        use, feed = LastUse(), LiveFeed.follow_daemon(reads.read_version, peer)
        ready = Ready(pid=os.getpid(), provider="", model="", sandbox=sandbox)
        peer.tasks.start_soon(answer_pings, peer, ready)
        channel = DescriptorChannel(socket.socket(fileno=0))
        listener = await channel.receive_listener()
        page = PageApp(
            journal=reads,
            daemon=peer,
            zone=zone,
            clock=_read_clock_ms,
            feed=feed,
            used=use.mark_used,
            hand_over=channel.send_connection,
            added=entrance.screens,
        )
        async with serve_app(listener, PageGuard(page.build_application(), entrance)):
            peer.tasks.start_soon(feed.watch_journal)
            peer.tasks.start_soon(_close_when_journal_lost, reads, peer)
            await _wait_until_idle(peer, use, feed, code)


async def _wait_until_idle(
    peer: Peer, use: LastUse, feed: LiveFeed, code: Sequence[CodePages]
) -> None:
    """Wait until the supervisor is gone, or no request has come for `IDLE_SECONDS`.

    Meanwhile memory is given back that requests have left.
    """
    released = 0.0
    while not peer.closed.is_set() and time.monotonic() - use.at < IDLE_SECONDS:
        feed.version()  # notices that the journal is lost
        if released < use.at:
            release_memory(code)
            released = time.monotonic()
        if feed.open_streams:
            use.mark_used()
        with anyio.move_on_after(CHECK_SECONDS):
            await peer.closed.wait()


async def _close_when_journal_lost(reads: PageReads, peer: Peer) -> None:
    """Stop the process when the journal is lost: the jail prevents reopening the file."""
    await reads.lost.wait()
    peer.close()


def _read_clock_ms() -> int:
    return time.time_ns() // 1_000_000


def main() -> None:
    faulthandler.enable()  # SIGABRT from the supervisor prints where it hangs
    logs.configure_logging(os.environ.get(LOG_VARIABLE, "info"))
    kernel.die_with_parent(os.getppid())
    os.nice(NICENESS)
    load_shared_content()
    gc.freeze()  # freed memory must not keep what exists now
    wire = socket.socket(fileno=int(os.environ[FD_VARIABLE]))
    try:
        entrance = PageEntrance.model_validate_json(os.environ.get(ENTRANCE_VARIABLE, "{}"))
        code, zone = list_code_pages(), ZoneInfo(entrance.zone)  # which the jail prevents
        reads, sandbox = enter_jail(Paths(Path.cwd()).journal)
        anyio.run(_serve_page, wire, reads, sandbox, code, entrance, zone)
        if reads.failure is not None:
            raise reads.failure
    except JournalError as error:
        report_failure(error)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
