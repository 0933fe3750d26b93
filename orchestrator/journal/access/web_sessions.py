"""Who is logged in on the page, and who was invited to it.

Tokens and codes are known by their digests alone.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.rows import Rows

IDLE = 12 * 3_600_000  # milliseconds without a request
LONGEST = 30 * 86_400_000  # milliseconds
INVITED = 86_400_000  # milliseconds that an invitation waits
SEEN_EVERY = 60_000  # milliseconds between two notes that a session was used
IDENTITY = "identity"  # a proxy told who it is
MOST_OF_ONE = 8  # logins by identity of one person; browsers that keep no cookie make many


@dataclass(frozen=True)
class WebSession:
    """A login; times in milliseconds. ``agents`` is a JSON array, None stands for all agents.

    ``made_by`` is ``code`` or `IDENTITY`.
    """

    digest: str
    user: str
    role: str
    agents: str | None
    made_at: int
    last_at: int
    ends_at: int
    label: str | None = None
    made_by: str = "code"

    @property
    def agent_ids(self) -> tuple[str, ...] | None:
        return None if self.agents is None else tuple(orjson.loads(self.agents))


@dataclass(frozen=True)
class WebGuest:
    """Whom a code or a proxy lets in, and as what."""

    user: str
    role: str
    agents: tuple[str, ...] | None = field(default=None)
    made_by: str = "code"


SESSIONS = Rows(
    WebSession,
    "web_session",
    'digest, "user", role, agents, made_at, last_at, ends_at, label, made_by',
)


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def begin(db: Database, token: str, guest: WebGuest, label: str, now: int) -> WebSession:
    """Log someone in with a new token; ``label`` is what the browser calls itself."""
    agents = _array(guest.agents)
    known = digest(token), guest.user, guest.role, agents
    made = WebSession(*known, now, now, now + LONGEST, label[:200], guest.made_by)
    db.execute(
        'INSERT INTO web_session(digest, "user", role, agents, made_at, last_at, ends_at, label,'
        " made_by) VALUES(?,?,?,?,?,?,?,?,?)",
        tuple(vars(made).values()),
    )
    if guest.made_by == IDENTITY:
        kept = 'SELECT digest FROM web_session WHERE made_by = ?1 AND "user" = ?2'
        newest = f"{kept} ORDER BY last_at DESC, rowid DESC LIMIT {MOST_OF_ONE}"
        old = f'made_by = ?1 AND "user" = ?2 AND digest NOT IN ({newest})'
        db.execute(f"DELETE FROM web_session WHERE {old}", (IDENTITY, guest.user))
    return made


def find(db: Database, digest: str, now: int) -> WebSession | None:
    """Return a session that is still good."""
    return SESSIONS.first(db, "digest = ? AND ends_at > ? AND last_at > ?", digest, now, now - IDLE)


def seen(db: Database, digest: str, now: int) -> None:
    """Note that a session was used, at most once in `SEEN_EVERY`."""
    db.execute(
        "UPDATE web_session SET last_at = ? WHERE digest = ? AND last_at <= ?",
        (now, digest, now - SEEN_EVERY),
    )


def every(db: Database, now: int) -> list[WebSession]:
    """Return the sessions that are still good, the newest first."""
    good = "ends_at > ? AND last_at > ? ORDER BY made_at DESC, digest"
    return SESSIONS.select(db, good, now, now - IDLE)


def end(db: Database, who: str) -> int:
    """End the sessions and invitations of a user, or a session by the beginning of its digest.

    Returns how many there were.
    """
    found = '"user" = ?1 OR (length(?1) >= 8 AND substr(digest, 1, length(?1)) = ?1)'
    sessions = db.execute(f"DELETE FROM web_session WHERE {found} RETURNING digest", (who,))
    ended = len(sessions.fetchall())
    invites = 'DELETE FROM web_invite WHERE used_at IS NULL AND "user" = ? RETURNING digest'
    return ended + len(db.execute(invites, (who,)).fetchall())


def unlisted(db: Database, roles: Mapping[str, str]) -> list[WebSession]:
    """Return the logins by identity of people who do not have their role any more."""
    told = SESSIONS.select(db, "made_by = ?", IDENTITY)
    return [session for session in told if roles.get(session.user) != session.role]


def invite(db: Database, code: str, guest: WebGuest, now: int) -> None:
    """Let someone in once, with a code."""
    db.execute(
        'INSERT INTO web_invite(digest, "user", role, agents, ends_at) VALUES(?,?,?,?,?)',
        (digest(code), guest.user, guest.role, _array(guest.agents), now + INVITED),
    )


def invited(db: Database, code: str, now: int) -> bool:
    """Return whether an invitation with this code waits."""
    waits = "SELECT 1 FROM web_invite WHERE digest = ? AND used_at IS NULL AND ends_at > ?"
    return db.execute(waits, (digest(code), now)).fetchall() != []


def redeem(db: Database, code: str, now: int) -> WebGuest | None:
    """Use up an invitation, and return whom it lets in; None if it is unknown, used or old."""
    found = db.execute(
        "UPDATE web_invite SET used_at = ? WHERE digest = ? AND used_at IS NULL AND ends_at > ?"
        ' RETURNING "user", role, agents',
        (now, digest(code), now),
    ).fetchall()
    if not found:
        return None
    user, role, agents = found[0]
    named = None if agents is None else tuple(orjson.loads(str(agents)))
    return WebGuest(str(user), str(role), named)


def _array(agents: tuple[str, ...] | None) -> str | None:
    return None if agents is None else orjson.dumps(agents).decode()
