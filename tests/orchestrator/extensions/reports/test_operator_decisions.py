"""A chat that is refused, and let in again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import opened

from orchestrator.extensions.reports.operator_decisions import readmit_chat, refuse_chat
from orchestrator.journal.access import pairing
from orchestrator.journal.access.pairing import REFUSED_FOR
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.outbox import Address
from thinker.protocol.names import ChatName


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def chat(chat_id: str) -> Address:
    """A chat of the bot."""
    return Address("telegram", "1", chat_id)


def test_refused_chat_is_silent_for_a_day_and_may_ask_again(db: Database) -> None:
    """What it wrote is removed, and it gets no answer; a revoked one stays so."""
    pairing.request_pairing(db, chat("7"), "Ann", "AAAA", 0)
    pairing.request_pairing(db, chat("8"), "Bob", "BBBB", 0)
    pairing.revoke_pairing(db, "telegram", "8", 1)
    assert refuse_chat(db, "aaaa", "web:ann", 1)
    assert not refuse_chat(db, "AAAA", "web:ann", 1)
    assert not refuse_chat(db, "CCCC", "web:ann", 1)
    assert pairing.approve(db, "AAAA", 2) is None
    assert db.execute("SELECT count(*) FROM outbox").get == 0
    for name in ("7", "8"):
        assert pairing.request_pairing(db, chat(name), "Ann", "CCCC", REFUSED_FOR) is None
    assert pairing.request_pairing(db, chat("8"), "Bob", "CCCC", REFUSED_FOR + 2) is None
    assert pairing.request_pairing(db, chat("7"), "Ann", "DDDD", REFUSED_FOR + 2) == "DDDD"
    assert audit.find_broken_entry(db) is None


def test_refused_chat_can_be_let_in_again(db: Database) -> None:
    """It may talk, whatever it could do before; one that was let in is no case for it."""
    pairing.request_pairing(db, chat("7"), "Ann", "AAAA", 0)
    assert refuse_chat(db, "AAAA", "web:ann", 1)
    name = ChatName("telegram", "7")
    assert readmit_chat(db, name, "web:ann", 2)
    assert pairing.load_roles(db) == {("telegram", "7"): "talk"}
    assert not readmit_chat(db, name, "web:ann", 3)
    assert not readmit_chat(db, ChatName("telegram", "8"), "web:ann", 3)
