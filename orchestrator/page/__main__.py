"""``python -P -m orchestrator.page``: started by the supervisor, ends with its socket."""

import faulthandler
import gc
import os
import socket
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio

from thinker.http.optional_imports import without

# Optional extras of structlog, uvicorn and starlette, which this process does not use.
with without("rich", "greenlet", "dotenv", "watchfiles"):
    from orchestrator.control.page_protocol import CHANGED, VIEW, WATCH, ChatKeys, ChatView
    from orchestrator.errors import JournalError
    from orchestrator.home_paths import Paths
    from orchestrator.http_api.http_server import served
    from orchestrator.journal.db.store import report_failure
    from orchestrator.page.descriptor_channel import DescriptorChannel
    from orchestrator.page.jailed_journal import enter_jail
    from orchestrator.page.live import LiveFeed
    from orchestrator.page.page_app import PageApp
    from orchestrator.page.page_guard import PageGuard
    from orchestrator.page.page_reads import PageReads
    from orchestrator.page.screens import manual_pages
    from orchestrator.page.static_files import static_url
    from orchestrator.page_wire import (
        ENTRANCE_VARIABLE,
        FD_VARIABLE,
        LOG_VARIABLE,
        PageEntrance,
    )
    from orchestrator.timezones import zone_or_utc
    from thinker.jail import kernel
    from thinker.protocol import logs
    from thinker.protocol.liveness import answer_pings
    from thinker.protocol.methods import Ready
    from thinker.protocol.peer import Peer, connected
    from thinker.protocol.sandbox import SandboxReport

NICENESS = 10  # agents go first, however many look at the page
IDLE = 900.0  # seconds after the last request
LOOK = 5.0  # seconds between two looks at that


@dataclass
class LastUse:
    """When the page was last asked for something, in seconds of `time.monotonic`."""

    at: float = field(default_factory=time.monotonic)

    def note(self) -> None:
        self.at = time.monotonic()


async def _serve(wire: socket.socket, reads: PageReads, sandbox: SandboxReport) -> None:
    async with connected(wire) as peer:
        use, feed = LastUse(), LiveFeed(reads.version, partial(_look, peer))
        peer.notifications[CHANGED] = lambda _: feed.changed()
        peer.notifications[VIEW] = lambda view: feed.grew(ChatView.model_validate(view))
        ready = Ready(pid=os.getpid(), provider="", model="", sandbox=sandbox)
        peer.tasks.start_soon(answer_pings, peer, ready)
        channel = DescriptorChannel(socket.socket(fileno=0))
        listener = await channel.listener()
        zone = zone_or_utc(None, os.environ)
        page = PageApp(reads, peer, zone, _clock, feed, use.note, channel.hand_over)
        entrance = PageEntrance.model_validate_json(os.environ.get(ENTRANCE_VARIABLE, "{}"))
        async with served(listener, PageGuard(page.build(), entrance)):
            peer.tasks.start_soon(feed.watch)
            peer.tasks.start_soon(_leave_without, reads, peer)
            await _until_idle(peer, use, feed)


async def _until_idle(peer: Peer, use: LastUse, feed: LiveFeed) -> None:
    """Return when the supervisor has gone, or when the page was not looked at for `IDLE`."""
    while not peer.closed.is_set() and time.monotonic() - use.at < IDLE:
        feed.version()  # notices that the journal is lost
        if feed.open:
            use.note()
        with anyio.move_on_after(LOOK):
            await peer.closed.wait()


async def _leave_without(reads: PageReads, peer: Peer) -> None:
    """End the process when the journal is lost: from inside the jail it cannot be opened anew."""
    await reads.lost.wait()
    peer.close()


def _look(peer: Peer, chats: frozenset[str]) -> None:
    peer.notify(WATCH, ChatKeys(keys=tuple(chats)))


def _clock() -> int:
    return time.time_ns() // 1_000_000


def main() -> None:
    faulthandler.enable()  # SIGABRT from the supervisor prints where it hangs
    logs.configure(os.environ.get(LOG_VARIABLE, "info"))
    kernel.die_with(os.getppid())
    os.nice(NICENESS)
    static_url("page.css")
    manual_pages.pages()
    gc.freeze()  # what is there now stays
    wire = socket.socket(fileno=int(os.environ[FD_VARIABLE]))
    try:
        reads, sandbox = enter_jail(Paths(Path.cwd()).journal)
        anyio.run(_serve, wire, reads, sandbox)
        if reads.failure is not None:
            raise reads.failure
    except JournalError as error:
        report_failure(error)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
