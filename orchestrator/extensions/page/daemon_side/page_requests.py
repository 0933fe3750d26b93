"""Serve the page's requests: each is checked against the session's role, and audited.

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

from orchestrator.control import protocol
from orchestrator.errors import JournalError
from orchestrator.extensions.page.daemon_side.page_access import READ_METHODS, can_call_method
from orchestrator.extensions.page.daemon_side.page_identity import PageIdentities
from orchestrator.extensions.page.daemon_side.page_process import PageProcess
from orchestrator.extensions.page.daemon_side.page_protocol import (
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
from orchestrator.extensions.page.daemon_side.shared_status import SharedStatus
from orchestrator.extensions.page.daemon_side.web_channel import can_write_chat
from orchestrator.extensions.page.page_settings import PageSettings
from orchestrator.extensions.page.reads import web_sessions
from orchestrator.extensions.page.reads.web_sessions import WebGuest, WebSession
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.loop_bound import LoopBound
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
class PageDesk(LoopBound):
    """The supervisor's side of the page.

    ``send`` stores a message to a chat of the page, ``acting`` returns the control socket's
    methods for a person, ``settings`` returns the current `channels.web`, ``switch`` turns the page
    on or off, also for the next start.
    """

    store: Store
    process: PageProcess
    acting: Handlers
    send: Callable[[WebSession, WebSend], Awaitable[None]]
    clock: Callable[[], int]
    random: Callable[[int], bytes]
    switch: Callable[[bool], None]
    looks: SharedStatus
    settings: Callable[[], PageSettings] = PageSettings
    _codes: OrderedDict[str, int] = field(default_factory=OrderedDict, init=False)
    _answers: OrderedDict[tuple[str, str], Params] = field(default_factory=OrderedDict, init=False)
    _running: set[tuple[str, str]] = field(default_factory=set, init=False)  # forms
    _finished: Wakeup = field(default_factory=Wakeup, init=False)

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
            ACT: self._perform_act,
            LEAVE: self._end_session,
            SEEN: self._record_seen,
        }

    @property
    def operator_methods(self) -> dict[str, RequestHandler]:
        """The methods for the command line."""
        return {
            DASHBOARD_OPEN: lambda _: self._open_page(),
            DASHBOARD_CLOSE: lambda _: self._close_page(),
            DASHBOARD_SESSIONS: lambda _: self._list_sessions(),
            DASHBOARD_REVOKE: self._revoke_sessions,
            DASHBOARD_INVITE: self._invite_guest,
        }

    # --- for the command line --------------------------------------------------------------------

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

    async def _revoke_sessions(self, params: JsonValue) -> protocol.Ack:
        name = SessionName.model_validate(params).name

        def end_sessions(db: Database, now: int) -> int:
            audit.record_decision(db, "operator", "web:revoke", name, now)
            return web_sessions.end_sessions(db, name)

        if not await self.store.transact(end_sessions, self.clock()):
            known = "see: orchestrator dashboard sessions"
            raise RpcError(protocol.UNKNOWN_NAME, f"no login or invitation of {name!r}; {known}")
        self.process.notify_page(CHANGED)
        return protocol.Ack()

    async def _invite_guest(self, params: JsonValue) -> PageAddress:
        asked = PageGuest.model_validate(params)
        code = self._make_secret(16)
        address = self._build_address(code, away=True)
        guest = WebGuest(asked.user, asked.role, asked.agents)

        def store_invitation(db: Database, now: int) -> None:
            audit.record_decision(db, "operator", f"web:invite:{asked.role}", asked.user, now)
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

    # --- for the page ----------------------------------------------------------------------------

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

    async def _perform_act(self, params: JsonValue) -> Params:
        """Call a method for a session, once per form."""
        asked = PageAct.model_validate(params)
        session = await self._require_session(asked)
        handler = self.looks.share_handlers(self.acting(f"web:{session.user}")).get(asked.method)
        if asked.method == WEB_SEND:
            handler = partial(self._accept_page_message, session)
        if handler is None:
            raise RpcError(NO_METHOD, f"unknown method {asked.method!r}")
        if asked.method in READ_METHODS:
            return await handler(asked.params)
        if not asked.once:
            raise RpcError(FAILED, NO_FORM)
        return await self._perform_once(session, asked, handler)

    async def _perform_once(
        self, session: WebSession, asked: PageAct, handler: RequestHandler
    ) -> Params:
        """Carry out a form; the same form again gets the first answer."""
        key = asked.digest, asked.once
        while key in self._running:  # sent twice at the same time
            await self._finished.changed.wait()
        if key in self._answers:
            return self._answers[key]
        self._running.add(key)
        try:
            await self._record_audit(session, asked)
            answer = self._answers[key] = await handler(asked.params)
        finally:
            self.looks.forget_answers()
            self._running.discard(key)
            self._finished.wake()
        while len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)
        return answer

    async def _accept_page_message(self, session: WebSession, params: JsonValue) -> protocol.Ack:
        sent = WebSend.model_validate(params)
        if not sent.text.strip() and not sent.files:
            raise RpcError(FAILED, "nothing to send; write something, or choose a file")
        if not can_write_chat(session, sent.chat):
            raise RpcError(FAILED, f"{session.user} may only write to chats of {session.user}")
        agents = session.agent_ids
        if agents is not None and sent.agent not in agents:
            raise RpcError(FAILED, f"{session.user} may not write to the agent {sent.agent!r}")
        try:
            await self.send(session, sent)
        except JournalError as error:
            raise RpcError(FAILED, f"the message was not stored: {error}") from error
        return protocol.Ack()

    async def _require_session(self, asked: PageAct) -> WebSession:
        session = await self.store.read(web_sessions.find_session, asked.digest, self.clock())
        if session is None or not self.identities.is_valid_session(session):
            raise RpcError(FAILED, NO_SESSION)
        if not can_call_method(session.role, asked.method, asked.params):
            raise RpcError(FAILED, NOT_ALLOWED.format(role=session.role))
        return session

    async def _record_audit(self, session: WebSession, asked: PageAct) -> None:
        params = asked.params
        if isinstance(params, dict) and "files" in params:
            params = {key: value for key, value in params.items() if key != "files"}
        subject = orjson.dumps(params).decode()[:MAX_SUBJECT]
        actor = f"web:{session.user}"
        try:
            await self.store.transact(
                audit.record_decision, actor, asked.method, subject, self.clock()
            )
        except JournalError as error:
            raise RpcError(FAILED, f"not done: {error}") from error

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
