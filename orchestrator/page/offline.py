"""A journal on the page without a daemon: all screens that only read, and no action."""

import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

import anyio
from pydantic import JsonValue

from orchestrator.control.page_protocol import ENTER, LEAVE, PageCode, PageEntry
from orchestrator.control.protocol import Ack
from orchestrator.http_api.http_server import served
from orchestrator.journal.access import web_sessions
from orchestrator.journal.access.web_sessions import WebSession
from orchestrator.journal.db.sqlite_storage import reading
from orchestrator.journal.opening import require_driver
from orchestrator.journal_address import JournalAddress, file_of
from orchestrator.page.daemon_link import M
from orchestrator.page.live import LiveFeed
from orchestrator.page.page_app import PageApp
from orchestrator.page.page_guard import PageGuard
from orchestrator.page.page_reads import PageReads, SqlitePageReads, open_reads
from orchestrator.page.screens import manual_pages
from orchestrator.page.static_files import static_url
from thinker.jail.worker_jail import prepare
from thinker.protocol.peer import FAILED, Params, RpcError

LOOK = 5.0  # seconds between two looks whether the journal can be read still
NO_DAEMON = "this is a journal without a daemon: it can be read, and nothing can be changed"


class Unattended:
    """In the place of the supervisor: it lets one browser in, by one code, once."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._session: WebSession | None = None

    def session(self, digest: str) -> WebSession | None:
        """Return the session of the browser that was let in, by the digest of its token."""
        known = self._session
        return known if known is not None and secrets.compare_digest(known.digest, digest) else None

    async def call(self, method: str, params: Params, result: type[M], *, timeout: float) -> M:  # noqa: ASYNC109 - as in `Peer`
        """Log in and out; refuse all else."""
        del timeout
        if method == ENTER and isinstance(params, PageCode):
            return result.model_validate(PageEntry(token=self._enter(params.code)).model_dump())
        if method == LEAVE:
            self._session = None
            return result.model_validate(Ack().model_dump())
        raise RpcError(FAILED, NO_DAEMON)

    async def request(self, method: str, params: Params = None, *, timeout: float) -> JsonValue:  # noqa: ASYNC109 - as in `Peer`
        """Refuse."""
        del method, params, timeout
        raise RpcError(FAILED, NO_DAEMON)

    def _enter(self, code: str) -> str | None:
        if not self._code or not secrets.compare_digest(code.encode(), self._code.encode()):
            return None
        token, now, self._code = secrets.token_hex(32), time.time_ns() // 1_000_000, ""
        ends = now + web_sessions.LONGEST
        self._session = WebSession(
            web_sessions.digest(token), "reader", "operator", None, now, now, ends
        )
        return token


def show(address: JournalAddress, zone: ZoneInfo, announce: Callable[[str], None]) -> None:
    """Serve a journal on a free port of this machine until Ctrl-C.

    ``announce`` is given the link that lets a browser in. The process is jailed before it answers:
    the journal may be of another machine.

    Raises:
        JournalError: the journal cannot be read.
    """
    with opened(address) as reads, socket.create_server(("127.0.0.1", 0)) as listener:
        static_url("page.css")
        manual_pages.pages()
        code = secrets.token_hex(16)
        announce(f"http://orchestrator.localhost:{listener.getsockname()[1]}/in#{code}")
        prepare(serves=True).close([], file_of(address).parent)
        anyio.run(_serve, reads, zone, listener, code)
        if reads.failure is not None:
            raise reads.failure


@contextmanager
def opened(address: JournalAddress) -> Iterator[PageReads]:
    """Open a journal to read; one of an older version is read in a copy that is brought up to date.

    That copy is made of a file alone.

    Raises:
        JournalError: it does not exist, or cannot be read.
    """
    if not isinstance(address, Path):
        require_driver()
        with closing(open_reads(address)) as reads:
            yield reads
        return
    with reading(address) as db:
        if db.filename:
            with closing(open_reads(address)) as reads:
                yield reads
        else:
            yield SqlitePageReads(db)


async def _serve(reads: PageReads, zone: ZoneInfo, listener: socket.socket, code: str) -> None:
    feed, daemon = LiveFeed(reads.version), Unattended(code)
    page = PageApp(reads, daemon, zone, _clock, feed, known=daemon.session)
    listener.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
    async with served(listener, PageGuard(page.build())), anyio.create_task_group() as tasks:
        tasks.start_soon(feed.watch)
        while not reads.lost.is_set():
            reads.version()
            with anyio.move_on_after(LOOK):
                await reads.lost.wait()
        tasks.cancel_scope.cancel()


def _clock() -> int:
    return time.time_ns() // 1_000_000
