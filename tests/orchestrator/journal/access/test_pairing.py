"""Pairing codes: asked for once, good for an hour, decided by an operator."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import opened, update

from orchestrator.journal.access import pairing
from orchestrator.journal.access.pairing import CODE_LIFETIME, MAX_PENDING, REFUSED_FOR
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import Address


def of(chat_id: str) -> Address:
    """A chat of the bot."""
    return Address("telegram", "1", chat_id)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def test_chat_is_told_one_code_at_a_time(db: Database) -> None:
    """A new one only when the old one has run out."""
    assert pairing.request_pairing(db, of("7"), "Ann", "AAAA", 0) == "AAAA"
    assert pairing.request_pairing(db, of("7"), "Ann", "BBBB", CODE_LIFETIME) is None
    assert pairing.request_pairing(db, of("7"), "Ann", "CCCC", CODE_LIFETIME + 1) == "CCCC"
    assert pairing.approve(db, "AAAA", CODE_LIFETIME + 2) is None


def test_strangers_cannot_fill_the_journal(db: Database) -> None:
    """At most a hundred codes are open."""
    codes = [
        pairing.request_pairing(db, of(str(n)), "", f"C{n}", 0) for n in range(MAX_PENDING + 5)
    ]
    assert len([code for code in codes if code is not None]) == MAX_PENDING


def test_approved_chat_is_in_until_it_is_revoked(db: Database) -> None:
    """A code works once; who was revoked cannot ask again; all of it is audited."""
    pairing.request_pairing(db, of("7"), "Ann", "AAAA", 0)
    pairing.request_pairing(db, of("8"), "Bob", "BBBB", 0)
    assert pairing.approve(db, "XXXX", 1) is None
    approved = pairing.approve(db, "aaaa", 1)  # as it may be typed
    assert approved is not None
    assert (approved.chat_id, approved.name, approved.code, approved.state) == (
        "7",
        "Ann",
        None,
        "approved",
    )
    assert pairing.approve(db, "AAAA", 1) is None
    assert pairing.load_roles(db) == {("telegram", "7"): "operate"}
    assert pairing.revoke_pairing(db, "telegram", "7", 2)
    assert not pairing.revoke_pairing(db, "telegram", "99", 2)
    assert pairing.load_roles(db) == {}
    assert pairing.request_pairing(db, of("7"), "Ann", "CCCC", 3) is None
    assert [(item.chat_id, item.state) for item in pairing.list_pairings(db)] == [
        ("7", "revoked"),
        ("8", "pending"),
    ]
    acts = [act for (act,) in db.execute("SELECT act FROM audit ORDER BY id")]
    assert acts == ["pairing approved", "pairing revoked"]
    assert audit.find_broken_entry(db) is None


def test_code_that_ran_out_lets_nobody_in(db: Database) -> None:
    """To the millisecond."""
    pairing.request_pairing(db, of("7"), "Ann", "AAAA", 0)
    assert pairing.approve(db, "AAAA", CODE_LIFETIME + 1) is None
    assert pairing.approve(db, "AAAA", CODE_LIFETIME) is not None


def test_what_a_chat_wrote_is_kept_as_long_as_its_code(db: Database) -> None:
    """Approved in time it is answered; a code that ran out takes it along."""
    for number, (chat, code) in enumerate((("7", "AAAA"), ("8", "BBBB"))):
        pairing.request_pairing(db, of(chat), "Ann", code, 0)
        assert pairing.has_pending_code(db, "telegram", chat)
        held = Arrival(update(number, f"I am {chat}", chat), "not paired yet", held=True)
        inbox.ingest(db, [held], None, 0)
    pairing.approve(db, "AAAA", CODE_LIFETIME)
    assert not pairing.has_pending_code(db, "telegram", "7")
    assert pairing.delete_expired_codes(db, CODE_LIFETIME) == 0
    assert pairing.delete_expired_codes(db, CODE_LIFETIME + 1) == 1
    assert not pairing.has_pending_code(db, "telegram", "8")
    assert db.execute("SELECT count(*) FROM held").get == 0
    rows = db.execute("SELECT chat_id, state, text FROM inbox ORDER BY id").fetchall()
    assert rows == [("7", "new", "I am 7"), ("8", "cancelled", "")]


def test_the_first_chat_operates_and_later_ones_talk(db: Database) -> None:
    """Unless the operator says otherwise, then or later; one from before roles operates."""
    for number, code in enumerate(("AAAA", "BBBB", "CCCC")):
        pairing.request_pairing(db, of(str(number)), "", code, 0)
    pairing.approve(db, "AAAA", 1)
    pairing.approve(db, "BBBB", 1)
    pairing.approve(db, "CCCC", 1, "approve")
    assert [*pairing.load_roles(db).values()] == ["operate", "talk", "approve"]
    assert pairing.change_role(db, "telegram", "1", "operate", 2) is not None
    assert pairing.change_role(db, "telegram", "9", "operate", 2) is None
    db.execute("UPDATE pairing SET role = NULL WHERE chat_id = '2'")
    assert {*pairing.load_roles(db).values()} == {"operate"}
    assert pairing.load_roles(db, "telegram", "1") == {("telegram", "1"): "operate"}


def test_refused_chat_is_silent_for_a_day_and_may_ask_again(db: Database) -> None:
    """What it wrote is removed, and it gets no answer; a revoked one stays so."""
    pairing.request_pairing(db, of("7"), "Ann", "AAAA", 0)
    pairing.request_pairing(db, of("8"), "Bob", "BBBB", 0)
    pairing.revoke_pairing(db, "telegram", "8", 1)
    assert pairing.refuse(db, "aaaa", "web:ann", 1)
    assert not pairing.refuse(db, "AAAA", "web:ann", 1)
    assert not pairing.refuse(db, "CCCC", "web:ann", 1)
    assert pairing.approve(db, "AAAA", 2) is None
    assert db.execute("SELECT count(*) FROM outbox").get == 0
    for chat in ("7", "8"):
        assert pairing.request_pairing(db, of(chat), "Ann", "CCCC", REFUSED_FOR) is None
    assert pairing.request_pairing(db, of("8"), "Bob", "CCCC", REFUSED_FOR + 2) is None
    assert pairing.request_pairing(db, of("7"), "Ann", "DDDD", REFUSED_FOR + 2) == "DDDD"
    assert audit.find_broken_entry(db) is None
