"""Log in people whom a proxy has authenticated. Their roles are those of agents.json now."""

import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import structlog
from pydantic import JsonValue

from orchestrator.agentsfile.agents_file import PageSettings
from orchestrator.control.descendants import from_descendant, peer_pid
from orchestrator.control.page_protocol import PageEntry, ProxiedPerson
from orchestrator.journal.access import web_sessions
from orchestrator.journal.access.web_sessions import IDENTITY, WebGuest, WebSession
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.loop_owned import LoopOwned

log = structlog.get_logger()


@dataclass
class PageIdentities(LoopOwned):
    """Knows who may come by the word of a proxy.

    ``settings`` returns `channels.web` in force, ``sent`` the connection that the page's process
    sent under a number, ``secret`` a fresh token.
    """

    store: Store
    settings: Callable[[], PageSettings]
    sent: Callable[[int], socket.socket | None]
    clock: Callable[[], int]
    secret: Callable[[], str]

    async def identify(self, params: JsonValue) -> PageEntry:
        """Return the token of a new session; None for a person who is not listed."""
        asked = ProxiedPerson.model_validate(params)
        guest = self._guest(asked.named)
        if guest is None or not self._from_a_proxy(asked.connection):
            return PageEntry(token=None)
        token = self.secret()

        def enter(db: Database, now: int) -> None:
            web_sessions.begin(db, token, guest, asked.label, now)
            by = f"web:login:{guest.role}"
            audit.record(db, f"web:{guest.user}", by, f"{IDENTITY} {asked.label}", now)

        await self.store.transact(enter, self.clock())
        return PageEntry(token=token)

    def good(self, session: WebSession) -> bool:
        """Return whether a session may go on: agents.json still has its person in its role."""
        return session.made_by != IDENTITY or self._roles().get(session.user) == session.role

    async def end_unlisted(self) -> None:
        """End the sessions of people who have left the list, or have another role in it.

        Raises:
            JournalError: it was not stored.
        """
        ended = await self.store.read(web_sessions.unlisted, self._roles())
        for session in ended:
            await self.store.transact(_end, session, self.clock())

    def _guest(self, named: str) -> WebGuest | None:
        identity = self.settings().identity
        user = None if identity is None else identity.person(named)
        if identity is None or user is None:
            return None
        return WebGuest(user, identity.users[user], made_by=IDENTITY)

    def _from_a_proxy(self, connection: int) -> bool:
        """Return whether the connection is not of a process that the daemon started.

        Over a port that cannot be known.
        """
        if not self.settings().socket:
            return True
        found = self.sent(connection)
        if found is None:
            return False
        with closing(found):
            refused = from_descendant(found)
            if refused:
                log.warning("identity_refused", pid=peer_pid(found), problem="a descendant")
        return not refused

    def _roles(self) -> dict[str, str]:
        identity = self.settings().identity
        return {} if identity is None else dict(identity.users)


def _end(db: Database, session: WebSession, now: int) -> None:
    web_sessions.end(db, session.digest)
    audit.record(db, "operator", "web:unlisted", session.user, now)
