"""The receipt of an answer, and what the chat sees of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from fakes.agents_file import WORK, parsed
from fakes.branched import BranchedWorld, branched_world
from fakes.journal import job

from orchestrator.extensions.receipts.receipt_writing import judge_answer
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.receipts import JudgedAnswer
from orchestrator.journal.turns.turns import Turn, load_turn

SENT = "I've sent the mail to bob."


@pytest.fixture
def world(tmp_path: Path) -> Iterator[BranchedWorld]:
    """A journal without a conversation."""
    with branched_world(tmp_path) as made:
        yield made


def judged(
    world: BranchedWorld | None, turn: Turn, text: str = SENT, **fields: Any
) -> JudgedAnswer | None:
    """What is said of an answer; without a world, nothing can be read for it."""
    (agent,) = parsed({**WORK, **fields}).file.agents
    db = cast("Database", None if world is None else world.db)
    return judge_answer(db, turn, agent, text)


def test_claim_that_a_call_shows_is_kept_without_a_mark(world: BranchedWorld) -> None:
    """The receipt names the call."""
    turn = world.begin()
    world.call(turn, "send_mail", to="bob")
    found = judged(world, turn)
    assert found is not None
    assert (found.marks, found.error) == ((), None)
    (claim,) = found.receipt.claims
    assert (claim.text, claim.kind, claim.verdict) == (SENT, "send", "shown")
    assert [(one.turn_id, one.seq, one.tool) for one in claim.calls] == [(turn.id, 2, "send_mail")]


def test_claim_without_a_call_is_marked(world: BranchedWorld) -> None:
    """In the words of the judge, once for each reason."""
    found = judged(world, world.begin(), f"{SENT} I've sent another one. I paid it.")
    assert found is not None
    notes = list(dict.fromkeys(claim.note for claim in found.receipt.claims))
    assert found.marks == tuple(f"⚠️ Not confirmed: {note}." for note in notes)
    assert [claim.verdict for claim in found.receipt.claims] == ["false"] * 3


def test_unknown_outcome_of_this_turn_is_marked_once(world: BranchedWorld) -> None:
    """Every answer has a line about it; one about an earlier turn has none."""
    turn = world.begin()
    world.leave(turn, "send_mail", "unknown")
    found = judged(world, turn)
    assert found is not None
    assert (found.receipt.claims[0].verdict, found.marks) == ("unconfirmed", ())
    world.end(turn)
    later = judged(world, world.begin())
    assert later is not None
    assert later.marks == (f"⚠️ Not confirmed: {later.receipt.claims[0].note}.",)


def test_many_marks_are_cut(world: BranchedWorld) -> None:
    """A chat is not flooded."""
    text = "I sent it. I wrote it. I deleted it. I booked it. I paid it."
    found = judged(world, world.begin(), text)
    assert found is not None
    more = len({claim.note for claim in found.receipt.claims}) - 3
    assert more > 0
    assert len(found.marks) == 4
    assert found.marks[-1] == f"⚠️ {more} more of what this says is not confirmed."


def test_agent_without_receipts_gets_none(world: BranchedWorld) -> None:
    """And nothing is read for it."""
    assert judged(None, world.begin(), receipts="off") is None


@pytest.mark.parametrize("text", ["Hello.", "Shall I send it?", '{"said": "x. I sent it."}'])
def test_answer_that_claims_nothing_costs_no_statement(world: BranchedWorld, text: str) -> None:
    """JSON is for programs."""
    assert judged(None, world.begin(), text) is None


@pytest.mark.parametrize(("mode", "marks"), [("mark", 0), ("on", 1)])
def test_answer_to_a_program_is_marked_only_on_demand(
    world: BranchedWorld, mode: str, marks: int
) -> None:
    """It may parse the text; the receipt is kept in any case."""
    found = judged(world, _of_kind(world, "request"), receipts=mode)
    assert found is not None
    assert len(found.marks) == marks


def test_task_that_claims_what_was_not_done_has_failed(world: BranchedWorld) -> None:
    """Its run says why; a message of a person never fails for that."""
    turn = _of_kind(world, "proactive")
    found = judged(world, turn)
    assert found is not None
    assert found.error == (
        "its answer claims what was not done: no mail was sent in this conversation"
    )
    world.call(turn, "send_mail", to="bob")
    done = judged(world, turn)
    assert done is not None
    assert done.error is None


def _of_kind(world: BranchedWorld, recipe: str) -> Turn:
    """A turn of another origin."""
    turn = world.begin()
    with job(world.db):
        world.db.execute("UPDATE turn SET recipe = ? WHERE id = ?", (recipe, turn.id))
    return load_turn(world.db, turn.id)
