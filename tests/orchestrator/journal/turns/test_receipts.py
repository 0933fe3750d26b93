"""Receipts in the journal: stored with the turn, confirmed by people, gone when forgotten."""

from pathlib import Path

import pytest
from fakes.journal import booted, job, open_turn

from orchestrator.errors import UnknownNameError
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.receipts import (
    AnswerReceipt,
    ClaimCounts,
    EvidentCall,
    ReceiptClaim,
    confirm_claim,
    count_claims,
    load_receipt,
    store_receipt,
)
from orchestrator.journal.turns.shown_texts import blank_shown_texts

SHOWN = ReceiptClaim(
    text="I paid it.",
    kind="pay",
    verdict="shown",
    calls=(EvidentCall(turn_id="t1", seq=2, tool="pay"),),
)
FALSE = ReceiptClaim(
    text="I sent it to my sister Ann.", kind="send", verdict="false", note="no mail was sent"
)


def receive(db: Database) -> None:
    """A turn with a receipt of two claims."""
    open_turn(db)
    with job(db):
        store_receipt(db, "t1", AnswerReceipt(claims=(SHOWN, FALSE)))


def test_receipt_is_read_back_as_it_was_stored(tmp_path: Path) -> None:
    """A turn without claims has none."""
    with booted(tmp_path) as db:
        receive(db)
        assert load_receipt(db, "t1") == AnswerReceipt(claims=(SHOWN, FALSE))
        assert load_receipt(db, "t2") is None


def test_confirmed_claim_is_doubtful_no_more(tmp_path: Path) -> None:
    """It counts as a false alarm, and the log has who said so."""
    with booted(tmp_path) as db:
        receive(db)
        assert count_claims(db, 0) == ClaimCounts(doubted=1, confirmed=0)
        with job(db):
            confirm_claim(db, "t1", 2, "web:ann", 5)
        receipt = load_receipt(db, "t1")
        assert receipt is not None
        assert [claim.is_doubtful for claim in receipt.claims] == [False, False]
        assert receipt.claims[1].describe_verdict() == "true, says web:ann"
        assert count_claims(db, 0) == ClaimCounts(doubted=1, confirmed=1)
        act = db.execute("SELECT actor, act FROM audit ORDER BY id DESC LIMIT 1").fetchone()
        assert act == ("web:ann", "claim confirmed")


@pytest.mark.parametrize(
    ("turn_id", "number", "problem"),
    [
        ("t1", 3, "no claim 3: its receipt has 2"),
        ("t1", 1, "claim 1 of turn t1 is shown by its calls already"),
        ("t2", 1, "its answer has no receipt"),
    ],
)
def test_only_a_doubted_claim_can_be_confirmed(
    tmp_path: Path, turn_id: str, number: int, problem: str
) -> None:
    """The refusal says what there is."""
    with booted(tmp_path) as db:
        receive(db)
        with pytest.raises(UnknownNameError, match=problem), job(db):
            confirm_claim(db, turn_id, number, "operator", 5)


def test_verdict_is_described_with_its_reason_and_calls() -> None:
    """For the trace and the page."""
    assert SHOWN.describe_verdict() == "shown: pay"
    assert FALSE.describe_verdict() == "not done: no mail was sent"


def test_forgotten_text_goes_from_receipts(tmp_path: Path) -> None:
    """They quote answers."""
    with booted(tmp_path) as db:
        receive(db)
        with job(db):
            blank_shown_texts(db, "work", ["it to my sister Ann"])
        receipt = load_receipt(db, "t1")
        assert receipt is not None
        assert receipt.claims[1].text == "I sent (forgotten)."
