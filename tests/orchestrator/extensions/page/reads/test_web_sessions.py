"""Logins of the page and invitations to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import opened

from orchestrator.extensions.page.reads import web_sessions
from orchestrator.extensions.page.reads.web_sessions import (
    INVITATION_MS,
    MAX_AGE_MS,
    MAX_IDLE_MS,
    USE_INTERVAL_MS,
    WebGuest,
)
from orchestrator.journal.db.database import Database

ANN = WebGuest("ann", "chat", ("home",))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def test_login_is_found_by_the_digest_of_its_token(db: Database) -> None:
    """The token itself is nowhere."""
    web_sessions.create_session(db, "secret", ANN, "x" * 500, 0)
    found = web_sessions.find_session(db, web_sessions.hash_secret("secret"), 1)
    assert found is not None
    assert (found.user, found.role, found.agent_ids) == ("ann", "chat", ("home",))
    assert len(found.label or "") == 200
    assert web_sessions.find_session(db, "secret", 1) is None


def test_login_ends_when_it_is_not_used_or_too_old(db: Database) -> None:
    """Use is noted once a minute."""
    digest = web_sessions.create_session(db, "t", ANN, "", 0).digest
    assert web_sessions.find_session(db, digest, MAX_IDLE_MS) is None
    web_sessions.mark_session_used(db, digest, USE_INTERVAL_MS - 1)
    assert web_sessions.find_session(db, digest, MAX_IDLE_MS) is None
    for at in range(0, MAX_AGE_MS, MAX_IDLE_MS - 1):
        web_sessions.mark_session_used(db, digest, at)
    assert web_sessions.find_session(db, digest, MAX_AGE_MS - 1) is not None
    assert web_sessions.find_session(db, digest, MAX_AGE_MS) is None


def test_invitation_lets_in_once_and_for_a_day(db: Database) -> None:
    """As what it says."""
    web_sessions.create_invitation(db, "code", ANN, 0)
    web_sessions.create_invitation(db, "late", ANN, 0)
    assert web_sessions.redeem_invitation(db, "wrong", 1) is None
    assert web_sessions.redeem_invitation(db, "code", 1) == ANN
    assert web_sessions.redeem_invitation(db, "code", 1) is None
    assert web_sessions.redeem_invitation(db, "late", INVITATION_MS) is None


def test_logins_end_by_user_or_by_the_beginning_of_an_id(db: Database) -> None:
    """Invitations that wait end with their user's logins; a short beginning names none."""
    first = web_sessions.create_session(db, "1", ANN, "", 0).digest
    web_sessions.create_session(db, "2", ANN, "", 0)
    web_sessions.create_invitation(db, "code", ANN, 0)
    assert web_sessions.end_sessions(db, first[:3]) == 0
    assert web_sessions.end_sessions(db, first[:12]) == 1
    assert web_sessions.end_sessions(db, "ann") == 2
    assert web_sessions.list_sessions(db, 0) == []
