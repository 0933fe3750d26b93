"""Log people in to the page: the codes of links, invitations, and sessions.

Codes for the operator's own browser live in memory for two minutes; those of invitations are in the
journal.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from socket import gethostname

from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.extensions.page.daemon_side.page_identity import PageIdentities
from orchestrator.extensions.page.daemon_side.page_process import PageProcess
from orchestrator.extensions.page.daemon_side.page_protocol import (
    CHANGED,
    DASHBOARD_CLOSE,
    DASHBOARD_INVITE,
    DASHBOARD_OPEN,
    DASHBOARD_REVOKE,
    DASHBOARD_SESSIONS,
    ENTER,
    IDENTIFY,
    LEAVE,
    SEEN,
    PageAddress,
    PageCode,
    PageEntry,
    PageGuest,
    PageSession,
    PageSessions,
    SessionDigest,
    SessionName,
)
from orchestrator.extensions.page.page_settings import PageSettings
from orchestrator.extensions.page.reads import web_sessions
from orchestrator.extensions.page.reads.web_sessions import WebGuest, WebSession
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.loop_bound import LoopBound
from thinker.protocol.peer import FAILED, RequestHandler, RpcError

CODE_LIFETIME = 120_000  # milliseconds to open the link
MAX_CODES = 16  # that wait
OWNER = WebGuest("operator", "operator")
FAR = (
    "The page has no port, and no name in channels.web.names. To open it from another computer run"
    " there: ssh -L {port}:{place} {host}"
)
OFF = 'the page is off: channels.web in agents.json has "enabled": false'


@dataclass
class PageLogins(LoopBound):
    """Who may use the page.

    ``settings`` returns the current `channels.web`, ``switch`` turns the page on or off, also for
    the next start.
    """

    store: Store
    process: PageProcess
    clock: Callable[[], int]
    random: Callable[[int], bytes]
    switch: Callable[[bool], None]
    settings: Callable[[], PageSettings] = PageSettings
    _codes: OrderedDict[str, int] = field(default_factory=OrderedDict, init=False)

    def __post_init__(self) -> None:
        self.identities = PageIdentities(
            store=self.store,
            settings=self.settings,
            sent=self.process.receive_connection,
            clock=self.clock,
            secret=lambda: self._make_secret(32),
        )

    @property
    def page_methods(self) -> dict[str, RequestHandler]:
        """The methods for the page's process."""
        return {
            ENTER: self._redeem_code,
            IDENTIFY: self.identities.identify_person,
            LEAVE: self._end_session,
            SEEN: self._record_seen,
        }

    def build_methods(self, by: str) -> Mapping[str, RequestHandler]:
        """Return the methods for the person ``by`` who manages the page."""
        return {
            DASHBOARD_OPEN: lambda _: self._open_page(),
            DASHBOARD_CLOSE: lambda _: self._close_page(),
            DASHBOARD_SESSIONS: lambda _: self._list_sessions(),
            DASHBOARD_REVOKE: partial(self._revoke_sessions, by),
            DASHBOARD_INVITE: partial(self._invite_guest, by),
        }

    async def find_session(self, digest: str) -> WebSession | None:
        """Return a valid session by the digest of its token."""
        session = await self.store.read(web_sessions.find_session, digest, self.clock())
        if session is None or not self.identities.is_valid_session(session):
            return None
        return session

    # --- for those who manage the page -----------------------------------------------------------

    async def _open_page(self) -> PageAddress:
        code = self._make_secret(16)
        address = self._build_address(code)
        self._codes[web_sessions.hash_secret(code)] = self.clock() + CODE_LIFETIME
        while len(self._codes) > MAX_CODES:
            self._codes.popitem(last=False)
        return address

    async def _close_page(self) -> protocol.Ack:
        self.switch(False)  # noqa: FBT003 - one value that says all
        return protocol.Ack()

    async def _list_sessions(self) -> PageSessions:
        found = await self.store.read(web_sessions.list_sessions, self.clock())
        return PageSessions(sessions=tuple(map(_build_page_session, found)))

    async def _revoke_sessions(self, by: str, params: JsonValue) -> protocol.Ack:
        name = SessionName.model_validate(params).name

        def end_sessions(db: Database, now: int) -> int:
            audit.record_decision(db, by, "web:revoke", name, now)
            return web_sessions.end_sessions(db, name)

        if not await self.store.transact(end_sessions, self.clock()):
            known = "see: orchestrator dashboard sessions"
            raise RpcError(protocol.UNKNOWN_NAME, f"no login or invitation of {name!r}; {known}")
        self.process.notify_page(CHANGED)
        return protocol.Ack()

    async def _invite_guest(self, by: str, params: JsonValue) -> PageAddress:
        asked = PageGuest.model_validate(params)
        code = self._make_secret(16)
        address = self._build_address(code, away=True)
        guest = WebGuest(asked.user, asked.role, asked.agents)

        def store_invitation(db: Database, now: int) -> None:
            audit.record_decision(db, by, f"web:invite:{asked.role}", asked.user, now)
            web_sessions.create_invitation(db, code, guest, now)

        await self.store.transact(store_invitation, self.clock())
        return address

    def _build_address(self, code: str, *, away: bool = False) -> PageAddress:
        """Switch the page on and return its address; the proxy's for someone ``away``."""
        self.switch(True)  # noqa: FBT003 - one value that says all
        web, place, way = self.settings(), self.process.place, ""
        if place is None:
            raise RpcError(FAILED, OFF)
        self.process.try_listening()
        if self.process.problem:
            raise RpcError(FAILED, self.process.problem)
        base = f"http://orchestrator.localhost:{web.port}"
        if web.names and (away or web.socket):
            base = f"https://{web.names[0]}"
        elif isinstance(place, Path):
            way = FAR.format(port=web.port, place=place, host=gethostname())
        return PageAddress(url=f"{base}{web.path}/in#{code}", way=way)

    # --- for the page's process -----------------------------------------------------------------

    async def _redeem_code(self, params: JsonValue) -> PageEntry:
        asked, token = PageCode.model_validate(params), self._make_secret(32)
        expires, looked = self._codes.pop(web_sessions.hash_secret(asked.code), 0), self.clock()
        own = OWNER if expires > looked else None
        if own is None and not await self.store.read(
            web_sessions.has_invitation, asked.code, looked
        ):
            return PageEntry(token=None)  # a guess costs no transaction

        def store_session(db: Database, now: int) -> bool:
            guest = own or web_sessions.redeem_invitation(db, asked.code, now)
            if guest is not None:
                web_sessions.create_session(db, token, guest, asked.label, now)
                audit.record_decision(
                    db, f"web:{guest.user}", f"web:login:{guest.role}", asked.label, now
                )
            return guest is not None

        let_in = await self.store.transact(store_session, self.clock())
        return PageEntry(token=token if let_in else None)

    async def _end_session(self, params: JsonValue) -> protocol.Ack:
        digest = SessionDigest.model_validate(params).digest
        await self.store.transact(web_sessions.end_sessions, digest)
        return protocol.Ack()

    async def _record_seen(self, params: JsonValue) -> protocol.Ack:
        digest = SessionDigest.model_validate(params).digest
        await self.store.transact(web_sessions.mark_session_used, digest, self.clock())
        return protocol.Ack()

    def _make_secret(self, size: int) -> str:
        return self.random(size).hex()


def _build_page_session(session: WebSession) -> PageSession:
    return PageSession(
        id=session.digest[:12],
        user=session.user,
        role=session.role,
        agents=session.agent_ids,
        made=session.made_at / 1000,
        last=session.last_at / 1000,
        label=session.label or "",
    )
