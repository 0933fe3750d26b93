"""Log in people whom a proxy has authenticated, with their current roles in agents.json."""

import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import structlog
from pydantic import JsonValue

from orchestrator.control.descendants import is_from_descendant, read_peer_pid
from orchestrator.extensions.page.daemon_side.page_protocol import PageEntry, ProxiedPerson
from orchestrator.extensions.page.page_settings import PageSettings
from orchestrator.extensions.page.reads import web_sessions
from orchestrator.extensions.page.reads.web_sessions import IDENTITY, WebGuest, WebSession
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.loop_bound import LoopBound

log = structlog.get_logger()


@dataclass
class PageIdentities(LoopBound):
    """Decides who may log in because a proxy names them.

    ``settings`` returns the current `channels.web`, ``sent`` the connection that the page's
    process sent under a number, ``secret`` a fresh token.
    """

    store: Store
    settings: Callable[[], PageSettings]
    sent: Callable[[int], socket.socket | None]
    clock: Callable[[], int]
    secret: Callable[[], str]

    async def identify_person(self, params: JsonValue) -> PageEntry:
        """Return the token of a new session; None for an unlisted person."""
        asked = ProxiedPerson.model_validate(params)
        guest = self._find_guest(asked.named)
        if guest is None or not self._is_from_proxy(asked.connection):
            return PageEntry(token=None)
        token = self.secret()

        def store_session(db: Database, now: int) -> None:
            web_sessions.create_session(db, token, guest, asked.label, now)
            by = f"web:login:{guest.role}"
            audit.record_decision(db, f"web:{guest.user}", by, f"{IDENTITY} {asked.label}", now)

        await self.store.transact(store_session, self.clock())
        return PageEntry(token=token)

    def is_valid_session(self, session: WebSession) -> bool:
        """Return whether a session is still valid: agents.json lists its person with its role."""
        return session.made_by != IDENTITY or self._get_roles().get(session.user) == session.role

    async def end_unlisted_sessions(self) -> None:
        """End the sessions of people who were removed from the list or changed roles.

        Raises:
            JournalError: the change was not stored.
        """
        ended = await self.store.read(web_sessions.list_outdated_logins, self._get_roles())
        for session in ended:
            await self.store.transact(_end_session, session, self.clock())

    def _find_guest(self, named: str) -> WebGuest | None:
        identity = self.settings().identity
        user = None if identity is None else identity.find_user(named)
        if identity is None or user is None:
            return None
        return WebGuest(user, identity.users[user], made_by=IDENTITY)

    def _is_from_proxy(self, connection: int) -> bool:
        """Return whether the connection comes from outside of the daemon's own processes.

        For a port this is unknown, so the answer is True.
        """
        if not self.settings().socket:
            return True
        found = self.sent(connection)
        if found is None:
            return False
        with closing(found):
            refused = is_from_descendant(found)
            if refused:
                log.warning("identity_refused", pid=read_peer_pid(found), problem="a descendant")
        return not refused

    def _get_roles(self) -> dict[str, str]:
        identity = self.settings().identity
        return {} if identity is None else dict(identity.users)


def _end_session(db: Database, session: WebSession, now: int) -> None:
    web_sessions.end_sessions(db, session.digest)
    audit.record_decision(db, "operator", "web:unlisted", session.user, now)
