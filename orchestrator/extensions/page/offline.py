"""Show a journal on the page without a daemon: all read-only screens, and no actions."""

import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

import anyio
from pydantic import JsonValue

from orchestrator.control.protocol import Ack
from orchestrator.extensions.page.daemon_link import M
from orchestrator.extensions.page.daemon_side.page_protocol import ENTER, LEAVE, PageCode, PageEntry
from orchestrator.extensions.page.live import LiveFeed
from orchestrator.extensions.page.page_app import PageApp
from orchestrator.extensions.page.page_guard import PageGuard
from orchestrator.extensions.page.page_reads import SqlitePageReads, open_reads
from orchestrator.extensions.page.reads import web_sessions
from orchestrator.extensions.page.reads.web_sessions import WebSession
from orchestrator.extensions.page.screens import manual_pages
from orchestrator.extensions.page.static_files import build_static_url
from orchestrator.journal.db.sqlite_storage import open_for_reading
from orchestrator.journal.engine import PageReads
from orchestrator.journal_address import JournalAddress, find_journal_file
from orchestrator.web.http_server import serve_app
from thinker.jail.worker_jail import prepare_jail
from thinker.protocol.peer import FAILED, Params, RpcError

CHECK_SECONDS = 5.0  # between two checks that the journal is still readable
NO_DAEMON = "this is a journal without a daemon: it can be read, and nothing can be changed"


class AbsentSupervisor:
    """Replaces the supervisor: logs in one browser, with one code, once."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._session: WebSession | None = None

    def find_session(self, digest: str) -> WebSession | None:
        """Return the session of the logged-in browser, by the digest of its token."""
        known = self._session
        return known if known is not None and secrets.compare_digest(known.digest, digest) else None

    async def call(self, method: str, params: Params, result: type[M], *, timeout: float) -> M:  # noqa: ASYNC109 - as in `Peer`
        """Log in and out; refuse everything else."""
        del timeout
        if method == ENTER and isinstance(params, PageCode):
            return result.model_validate(
                PageEntry(token=self._redeem_code(params.code)).model_dump()
            )
        if method == LEAVE:
            self._session = None
            return result.model_validate(Ack().model_dump())
        raise RpcError(FAILED, NO_DAEMON)

    async def request(self, method: str, params: Params = None, *, timeout: float) -> JsonValue:  # noqa: ASYNC109 - as in `Peer`
        """Refuse every call."""
        del method, params, timeout
        raise RpcError(FAILED, NO_DAEMON)

    def _redeem_code(self, code: str) -> str | None:
        if not self._code or not secrets.compare_digest(code.encode(), self._code.encode()):
            return None
        token, now, self._code = secrets.token_hex(32), time.time_ns() // 1_000_000, ""
        ends = now + web_sessions.MAX_AGE_MS
        self._session = WebSession(
            web_sessions.hash_secret(token), "reader", "operator", None, now, now, ends
        )
        return token


def serve_journal(address: JournalAddress, zone: ZoneInfo, announce: Callable[[str], None]) -> None:
    """Serve a journal on a free port of this machine until Ctrl-C.

    ``announce`` gets the login link. The process is jailed before it answers: the journal may come
    from another machine.

    Raises:
        JournalError: the journal cannot be read.
    """
    with open_journal_reads(address) as reads, socket.create_server(("127.0.0.1", 0)) as listener:
        build_static_url("page.css")
        manual_pages.load_manual_pages()
        code = secrets.token_hex(16)
        announce(f"http://orchestrator.localhost:{listener.getsockname()[1]}/in#{code}")
        prepare_jail(serves=True).close_jail([], find_journal_file(address).parent)
        anyio.run(_serve_page, reads, zone, listener, code)
        if reads.failure is not None:
            raise reads.failure


@contextmanager
def open_journal_reads(address: JournalAddress) -> Iterator[PageReads]:
    """Open a journal for reading; an older version is read in an upgraded copy.

    Only files are copied.

    Raises:
        JournalError: the journal does not exist, or cannot be read.
    """
    if not isinstance(address, Path):
        with closing(open_reads(address)) as reads:
            yield reads
        return
    with open_for_reading(address) as db:
        if db.filename:
            with closing(open_reads(address)) as reads:
                yield reads
        else:
            yield SqlitePageReads(db)


async def _serve_page(reads: PageReads, zone: ZoneInfo, listener: socket.socket, code: str) -> None:
    feed, daemon = LiveFeed(reads.read_version), AbsentSupervisor(code)
    page = PageApp(reads, daemon, zone, _read_clock_ms, feed, known=daemon.find_session)
    listener.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
    async with (
        serve_app(listener, PageGuard(page.build_application())),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(feed.watch_journal)
        while not reads.lost.is_set():
            reads.read_version()
            with anyio.move_on_after(CHECK_SECONDS):
                await reads.lost.wait()
        tasks.cancel_scope.cancel()


def _read_clock_ms() -> int:
    return time.time_ns() // 1_000_000
