"""The page's logins and invitations.

Only digests of tokens and codes are stored.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from orchestrator.journal.db.database import Database, Rows

MAX_IDLE_MS = 12 * 3_600_000  # without a request
MAX_AGE_MS = 30 * 86_400_000
INVITATION_MS = 86_400_000  # that an invitation waits
USE_INTERVAL_MS = 60_000  # between two notes that a session was used
IDENTITY = "identity"  # a proxy told who it is
MAX_IDENTITY_LOGINS = 8  # of one person; browsers that keep no cookie make many


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
    """A guest whom a code or a proxy admits, and the role."""

    user: str
    role: str
    agents: tuple[str, ...] | None = field(default=None)
    made_by: str = "code"


SESSIONS = Rows(
    WebSession,
    "web_session",
    'digest, "user", role, agents, made_at, last_at, ends_at, label, made_by',
)


def hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def create_session(db: Database, token: str, guest: WebGuest, label: str, now: int) -> WebSession:
    """Log someone in with a new token; ``label`` is the browser's description."""
    agents = _encode_agents(guest.agents)
    known = hash_secret(token), guest.user, guest.role, agents
    made = WebSession(*known, now, now, now + MAX_AGE_MS, label[:200], guest.made_by)
    db.execute(
        'INSERT INTO web_session(digest, "user", role, agents, made_at, last_at, ends_at, label,'
        " made_by) VALUES(?,?,?,?,?,?,?,?,?)",
        tuple(vars(made).values()),
    )
    if guest.made_by == IDENTITY:
        kept = 'SELECT digest FROM web_session WHERE made_by = ?1 AND "user" = ?2'
        newest = f"{kept} ORDER BY last_at DESC, rowid DESC LIMIT {MAX_IDENTITY_LOGINS}"
        old = f'made_by = ?1 AND "user" = ?2 AND digest NOT IN ({newest})'
        db.execute(f"DELETE FROM web_session WHERE {old}", (IDENTITY, guest.user))
    return made


def find_session(db: Database, digest: str, now: int) -> WebSession | None:
    """Return a session that is still valid."""
    return SESSIONS.find_first(
        db, "digest = ? AND ends_at > ? AND last_at > ?", digest, now, now - MAX_IDLE_MS
    )


def mark_session_used(db: Database, digest: str, now: int) -> None:
    """Record that a session was used, at most once in `USE_INTERVAL_MS`."""
    db.execute(
        "UPDATE web_session SET last_at = ? WHERE digest = ? AND last_at <= ?",
        (now, digest, now - USE_INTERVAL_MS),
    )


def list_sessions(db: Database, now: int) -> list[WebSession]:
    """Return the valid sessions, newest first."""
    good = "ends_at > ? AND last_at > ? ORDER BY made_at DESC, digest"
    return SESSIONS.select(db, good, now, now - MAX_IDLE_MS)


def end_sessions(db: Database, who: str) -> int:
    """End the sessions and invitations of a user, or a session by the start of its digest.

    Returns their number.
    """
    found = '"user" = ?1 OR (length(?1) >= 8 AND substr(digest, 1, length(?1)) = ?1)'
    sessions = db.execute(f"DELETE FROM web_session WHERE {found} RETURNING digest", (who,))
    ended = len(sessions.fetchall())
    invites = 'DELETE FROM web_invite WHERE used_at IS NULL AND "user" = ? RETURNING digest'
    return ended + len(db.execute(invites, (who,)).fetchall())


def list_outdated_logins(db: Database, roles: Mapping[str, str]) -> list[WebSession]:
    """Return the logins by identity of people who no longer have their role."""
    told = SESSIONS.select(db, "made_by = ?", IDENTITY)
    return [session for session in told if roles.get(session.user) != session.role]


def create_invitation(db: Database, code: str, guest: WebGuest, now: int) -> None:
    """Create an invitation with a one-time code."""
    db.execute(
        'INSERT INTO web_invite(digest, "user", role, agents, ends_at) VALUES(?,?,?,?,?)',
        (
            hash_secret(code),
            guest.user,
            guest.role,
            _encode_agents(guest.agents),
            now + INVITATION_MS,
        ),
    )


def has_invitation(db: Database, code: str, now: int) -> bool:
    """Return whether an unused invitation has this code."""
    waits = "SELECT 1 FROM web_invite WHERE digest = ? AND used_at IS NULL AND ends_at > ?"
    return db.execute(waits, (hash_secret(code), now)).fetchall() != []


def redeem_invitation(db: Database, code: str, now: int) -> WebGuest | None:
    """Use up an invitation and return its guest; None if unknown, used or expired."""
    found = db.execute(
        "UPDATE web_invite SET used_at = ? WHERE digest = ? AND used_at IS NULL AND ends_at > ?"
        ' RETURNING "user", role, agents',
        (now, hash_secret(code), now),
    ).fetchall()
    if not found:
        return None
    user, role, agents = found[0]
    named = None if agents is None else tuple(orjson.loads(str(agents)))
    return WebGuest(str(user), str(role), named)


def _encode_agents(agents: tuple[str, ...] | None) -> str | None:
    return None if agents is None else orjson.dumps(agents).decode()
