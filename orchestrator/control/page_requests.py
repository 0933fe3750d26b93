"""Do what the page asks for. A session may do what its role may, and all of it is audited.

Codes for the operator's own browser live in memory for two minutes; those of invitations are in the
journal.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from socket import gethostname

import orjson
from pydantic import JsonValue

from orchestrator.agentsfile.agents_file import PageSettings
from orchestrator.control import protocol
from orchestrator.control.page_access import LOOKING, may
from orchestrator.control.page_identity import PageIdentities
from orchestrator.control.page_protocol import (
    ACT,
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
    WEB_SEND,
    PageAct,
    PageAddress,
    PageCode,
    PageEntry,
    PageGuest,
    PageSession,
    PageSessions,
    SessionDigest,
    SessionName,
    WebSend,
)
from orchestrator.control.shared_looks import SharedLooks
from orchestrator.control.web_channel import owns
from orchestrator.errors import JournalError
from orchestrator.journal.access import web_sessions
from orchestrator.journal.access.web_sessions import WebGuest, WebSession
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.loop_owned import LoopOwned
from orchestrator.processes.page_process import PageProcess
from orchestrator.wakeup import Wakeup
from thinker.protocol.peer import FAILED, NO_METHOD, Params, RequestHandler, RpcError

CODE_LIFETIME = 120_000  # milliseconds to open the link
MAX_CODES = 16  # that wait
MAX_ANSWERS = 1000  # kept for forms that are sent twice
MAX_SUBJECT = 200  # characters of what an entry of the audit log is about
OWNER = WebGuest("operator", "operator")
NO_SESSION = "this login has ended; run: orchestrator dashboard"
NOT_ALLOWED = "the role {role!r} may not do this; ask an operator"
NO_FORM = "this was not sent by a form of the page; reload the page, and send it again"
FAR = (
    "The page has no port, and no name in channels.web.names. To open it from another computer run"
    " there: ssh -L {port}:{place} {host}"
)
OFF = 'the page is off: channels.web in agents.json has "enabled": false'
Handlers = Callable[[str], Mapping[str, RequestHandler]]


@dataclass
class PageDesk(LoopOwned):
    """The supervisor's side of the page.

    ``send`` stores a message to a chat of the page, ``acting`` returns the methods of the control
    socket for a person of that name, ``settings`` returns `channels.web` in force, ``switch`` turns
    the page on or off, also for the next start.
    """

    store: Store
    process: PageProcess
    acting: Handlers
    send: Callable[[WebSession, WebSend], Awaitable[None]]
    clock: Callable[[], int]
    random: Callable[[int], bytes]
    switch: Callable[[bool], None]
    looks: SharedLooks
    settings: Callable[[], PageSettings] = PageSettings
    _codes: OrderedDict[str, int] = field(default_factory=OrderedDict, init=False)
    _answers: OrderedDict[tuple[str, str], Params] = field(default_factory=OrderedDict, init=False)
    _running: set[tuple[str, str]] = field(default_factory=set, init=False)  # forms
    _finished: Wakeup = field(default_factory=Wakeup, init=False)

    def __post_init__(self) -> None:
        self.identities = PageIdentities(
            store=self.store,
            settings=self.settings,
            sent=self.process.sent_connection,
            clock=self.clock,
            secret=lambda: self._secret(32),
        )

    @property
    def page_methods(self) -> dict[str, RequestHandler]:
        """What the page's process may ask."""
        return {
            ENTER: self._enter,
            IDENTIFY: self.identities.identify,
            ACT: self._act,
            LEAVE: self._leave,
            SEEN: self._seen,
        }

    @property
    def operator_methods(self) -> dict[str, RequestHandler]:
        """What the command line may ask."""
        return {
            DASHBOARD_OPEN: lambda _: self._open(),
            DASHBOARD_CLOSE: lambda _: self._close(),
            DASHBOARD_SESSIONS: lambda _: self._sessions(),
            DASHBOARD_REVOKE: self._revoke,
            DASHBOARD_INVITE: self._invite,
        }

    # --- for the command line --------------------------------------------------------------------

    async def _open(self) -> PageAddress:
        code = self._secret(16)
        address = self._address(code)
        self._codes[web_sessions.digest(code)] = self.clock() + CODE_LIFETIME
        while len(self._codes) > MAX_CODES:
            self._codes.popitem(last=False)
        return address

    async def _close(self) -> protocol.Ack:
        self.switch(False)  # noqa: FBT003 - one value that says all
        return protocol.Ack()

    async def _sessions(self) -> PageSessions:
        found = await self.store.read(web_sessions.every, self.clock())
        return PageSessions(sessions=tuple(map(_told, found)))

    async def _revoke(self, params: JsonValue) -> protocol.Ack:
        name = SessionName.model_validate(params).name

        def revoke(db: Database, now: int) -> int:
            audit.record(db, "operator", "web:revoke", name, now)
            return web_sessions.end(db, name)

        if not await self.store.transact(revoke, self.clock()):
            known = "see: orchestrator dashboard sessions"
            raise RpcError(protocol.UNKNOWN_NAME, f"no login or invitation of {name!r}; {known}")
        self.process.tell(CHANGED)
        return protocol.Ack()

    async def _invite(self, params: JsonValue) -> PageAddress:
        asked = PageGuest.model_validate(params)
        code = self._secret(16)
        address = self._address(code, away=True)
        guest = WebGuest(asked.user, asked.role, asked.agents)

        def invite(db: Database, now: int) -> None:
            audit.record(db, "operator", f"web:invite:{asked.role}", asked.user, now)
            web_sessions.invite(db, code, guest, now)

        await self.store.transact(invite, self.clock())
        return address

    def _address(self, code: str, *, away: bool = False) -> PageAddress:
        """Switch the page on and return its address, for someone ``away`` that of its proxy."""
        self.switch(True)  # noqa: FBT003 - one value that says all
        web, place, way = self.settings(), self.process.place, ""
        if place is None:
            raise RpcError(FAILED, OFF)
        self.process.listen()
        if self.process.problem:
            raise RpcError(FAILED, self.process.problem)
        base = f"http://orchestrator.localhost:{web.port}"
        if web.names and (away or web.socket):
            base = f"https://{web.names[0]}"
        elif isinstance(place, Path):
            way = FAR.format(port=web.port, place=place, host=gethostname())
        return PageAddress(url=f"{base}{web.path}/in#{code}", way=way)

    # --- for the page ----------------------------------------------------------------------------

    async def _enter(self, params: JsonValue) -> PageEntry:
        asked, token = PageCode.model_validate(params), self._secret(32)
        expires, looked = self._codes.pop(web_sessions.digest(asked.code), 0), self.clock()
        own = OWNER if expires > looked else None
        if own is None and not await self.store.read(web_sessions.invited, asked.code, looked):
            return PageEntry(token=None)  # a guess costs no transaction

        def enter(db: Database, now: int) -> bool:
            guest = own or web_sessions.redeem(db, asked.code, now)
            if guest is not None:
                web_sessions.begin(db, token, guest, asked.label, now)
                audit.record(db, f"web:{guest.user}", f"web:login:{guest.role}", asked.label, now)
            return guest is not None

        let_in = await self.store.transact(enter, self.clock())
        return PageEntry(token=token if let_in else None)

    async def _leave(self, params: JsonValue) -> protocol.Ack:
        digest = SessionDigest.model_validate(params).digest
        await self.store.transact(web_sessions.end, digest)
        return protocol.Ack()

    async def _seen(self, params: JsonValue) -> protocol.Ack:
        digest = SessionDigest.model_validate(params).digest
        await self.store.transact(web_sessions.seen, digest, self.clock())
        return protocol.Ack()

    async def _act(self, params: JsonValue) -> Params:
        """Call a method for a session, once for each of its forms."""
        asked = PageAct.model_validate(params)
        session = await self._session(asked)
        handler = self.looks.handlers(self.acting(f"web:{session.user}")).get(asked.method)
        if asked.method == WEB_SEND:
            handler = partial(self._say, session)
        if handler is None:
            raise RpcError(NO_METHOD, f"there is no method {asked.method!r}")
        if asked.method in LOOKING:
            return await handler(asked.params)
        if not asked.once:
            raise RpcError(FAILED, NO_FORM)
        return await self._once(session, asked, handler)

    async def _once(self, session: WebSession, asked: PageAct, handler: RequestHandler) -> Params:
        """Do what a form asks for; the same form again gets the first answer."""
        key = asked.digest, asked.once
        while key in self._running:  # sent twice at the same time
            await self._finished.changed.wait()
        if key in self._answers:
            return self._answers[key]
        self._running.add(key)
        try:
            await self._audit(session, asked)
            answer = self._answers[key] = await handler(asked.params)
        finally:
            self.looks.forget()
            self._running.discard(key)
            self._finished.wake()
        while len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)
        return answer

    async def _say(self, session: WebSession, params: JsonValue) -> protocol.Ack:
        sent = WebSend.model_validate(params)
        if not sent.text.strip() and not sent.files:
            raise RpcError(FAILED, "there is nothing to send; write something, or choose a file")
        if not owns(session, sent.chat):
            raise RpcError(FAILED, f"{session.user} writes to chats of {session.user} alone")
        agents = session.agent_ids
        if agents is not None and sent.agent not in agents:
            raise RpcError(FAILED, f"{session.user} may not write to the agent {sent.agent!r}")
        try:
            await self.send(session, sent)
        except JournalError as error:
            raise RpcError(FAILED, f"the message was not stored: {error}") from error
        return protocol.Ack()

    async def _session(self, asked: PageAct) -> WebSession:
        session = await self.store.read(web_sessions.find, asked.digest, self.clock())
        if session is None or not self.identities.good(session):
            raise RpcError(FAILED, NO_SESSION)
        if not may(session.role, asked.method):
            raise RpcError(FAILED, NOT_ALLOWED.format(role=session.role))
        return session

    async def _audit(self, session: WebSession, asked: PageAct) -> None:
        params = asked.params
        if isinstance(params, dict) and "files" in params:
            params = {key: value for key, value in params.items() if key != "files"}
        subject = orjson.dumps(params).decode()[:MAX_SUBJECT]
        actor = f"web:{session.user}"
        try:
            await self.store.transact(audit.record, actor, asked.method, subject, self.clock())
        except JournalError as error:
            raise RpcError(FAILED, f"nothing was done: {error}") from error

    def _secret(self, size: int) -> str:
        return self.random(size).hex()


def _told(session: WebSession) -> PageSession:
    return PageSession(
        id=session.digest[:12],
        user=session.user,
        role=session.role,
        agents=session.agent_ids,
        made=session.made_at / 1000,
        last=session.last_at / 1000,
        label=session.label or "",
    )
