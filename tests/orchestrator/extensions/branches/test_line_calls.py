"""A conversation that was rewound or forked acts once: by its record, or after a question."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.branched import BranchedWorld, branched_world
from fakes.journal import job

from orchestrator.journal.turns import sessions
from thinker.protocol.messages import JsonObject

OFFER: JsonObject = {"to": "bob", "body": "Offer 12", "amount": 480}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[BranchedWorld]:
    """A journal without a conversation."""
    with branched_world(tmp_path) as made:
        yield made


def test_same_call_gets_its_recorded_result(world: BranchedWorld) -> None:
    """It runs no second time, asks no question, and says which call has answered it."""
    point = world.have("hello")
    left = world.have("mail the offer", ("send_mail", OFFER))
    world.configured = ("send_mail",)
    world.rewind(point)
    outcome = world.call(world.begin(), "send_mail", **OFFER)
    assert (outcome.done, outcome.text) == (True, "(recorded; not done again) send_mail ok")
    assert len(world.effects) == 1
    rows = world.db.execute("SELECT answered_by, t_intent FROM step WHERE answered_by IS NOT NULL")
    assert rows.fetchall() == [(f"{left}:2", None)]


def test_call_worded_anew_asks_with_both_calls(world: BranchedWorld) -> None:
    """Whatever the configuration says; a grant runs it, and settles the earlier call."""
    point = world.have("hello")
    world.have("mail the offer", ("send_mail", OFFER))
    child = world.fork(point)
    turn = world.begin(at=child.address)
    outcome = world.call(turn, "send_mail", **{**OFFER, "amount": 460})
    assert outcome.question is not None
    assert outcome.question.reason == (
        'this conversation did already send_mail(amount: 480, body: "Offer 12", to: "bob")'
        " at 2026-02-12 12:02 UTC; now: amount 480 → 460"
    )
    world.decide(outcome)
    assert world.try_again(turn, outcome.call).done
    assert len(world.effects) == 2
    assert world.call(turn, "send_mail", to="eve").question is None


def test_approved_like_does_not_free_the_same_call(world: BranchedWorld) -> None:
    """What was done before is not done a second time because another one was approved."""
    point = world.have("hello")
    world.have("mail the offer", ("send_mail", OFFER))
    turn = world.begin(at=world.fork(point).address)
    outcome = world.call(turn, "send_mail", to="eve")
    world.decide(outcome)
    world.try_again(turn, outcome.call)
    assert world.call(turn, "send_mail", **OFFER).text.startswith("(recorded")
    assert len(world.effects) == 2


def test_record_answers_once_for_each_line(world: BranchedWorld) -> None:
    """The next one like it is a new wish; another fork has the record for itself."""
    point = world.have("hello")
    world.have("mail the offer", ("send_mail", OFFER))
    for name in ("one", "two"):
        turn = world.begin(at=world.fork(point, name).address)
        assert world.call(turn, "send_mail", **OFFER).text.startswith("(recorded")
        assert len(world.effects) == 1
    world.call(turn, "send_mail", **OFFER)
    assert len(world.effects) == 2


@pytest.mark.parametrize("state", ["unknown", "intent"])
def test_same_call_of_unknown_outcome_asks(world: BranchedWorld, state: str) -> None:
    """In a fork, whose chat is another one, as well."""
    point = world.have("hello")
    turn = world.begin()
    world.leave(turn, "pay_bill", state, bill=3)
    child = world.fork(point)
    outcome = world.call(world.begin(at=child.address), "pay_bill", bill=3)
    assert outcome.question is not None
    assert "outcome is unknown" in outcome.question.reason


def test_call_that_has_failed_may_be_tried_again(world: BranchedWorld) -> None:
    """Nothing came of it."""
    point = world.have("hello")
    turn = world.begin()
    world.leave(turn, "pay_bill", "failed", bill=3)
    world.end(turn)
    world.rewind(point)
    assert world.call(world.begin(), "pay_bill", bill=3).question is None


@pytest.mark.parametrize(
    ("earlier", "later", "asks"),
    [
        ("pay_bill", "transfer_money", True),
        ("send_mail", "post_message", True),
        ("delete_file", "cancel_order", True),
        ("send_mail", "set_light", False),
        ("set_light", "send_mail", False),
        ("set_light", "look_up", False),
    ],
)
def test_other_tool_asks_if_both_send_pay_or_delete(
    world: BranchedWorld, earlier: str, later: str, *, asks: bool
) -> None:
    """A tool of another kind runs as ever, and one without an effect always."""
    point = world.have("hello")
    world.have("do it", (earlier, {"x": 1}))
    world.rewind(point)
    outcome = world.call(world.begin(), later, y=2)
    assert (outcome.question is not None) is asks


def test_change_of_the_journal_asks_nothing(world: BranchedWorld) -> None:
    """The same one is not made twice, and a person can take another one back."""
    point = world.have("hello")
    world.have("note it", ("keep_note", {"text": "milk"}))
    world.rewind(point)
    turn = world.begin()
    assert world.call(turn, "keep_note", text="milk").text.startswith("(recorded")
    assert world.call(turn, "keep_note", text="oil").question is None


def test_code_of_the_left_part_asks(world: BranchedWorld) -> None:
    """With any tool that acts; what was known before the point is no secret of that part."""
    point = world.have("my order is ORD-2026-00017")
    turn = world.begin()
    world.answer_like(turn, "get_code", "ORD-2026-00017: code 8F3K-22PQ-71ZX")
    world.end(turn)
    world.rewind(point)
    turn = world.begin()
    outcome = world.call(turn, "set_light", note="8F3K-22PQ-71ZX")
    assert outcome.question is not None
    assert "8F3K-22PQ-71ZX" in outcome.question.reason
    assert world.call(turn, "set_light", note="ORD-2026-00017").question is None


def test_code_that_the_left_part_has_spent_asks(world: BranchedWorld) -> None:
    """Even though it was brought before the point."""
    turn = world.begin()
    world.answer_like(turn, "get_code", "code 8F3K-22PQ-71ZX")
    point = world.end(turn)
    world.have("pay", ("pay_bill", {"code": "8F3K-22PQ-71ZX"}))
    world.rewind(point)
    outcome = world.call(world.begin(), "create_event", note="8F3K-22PQ-71ZX")
    assert outcome.question is not None


def test_calls_of_subagents_belong_to_the_conversation(world: BranchedWorld) -> None:
    """Those that were made, and those that a subagent of the new line makes."""
    point = world.have("hello")
    turn = world.begin()
    assert world.call(world.delegate(turn, "mail"), "send_mail", **OFFER).done
    child = world.fork(point)
    below = world.delegate(world.delegate(world.begin(at=child.address), "a"), "b")
    assert world.call(below, "send_mail", **OFFER).text.startswith("(recorded")
    assert world.call(below, "send_mail", to="eve").question is None
    assert world.call(world.delegate(turn, "more"), "send_mail", to="x").question is None


def test_line_of_lines_remembers_all_of_them(world: BranchedWorld) -> None:
    """What a rewound conversation did before it was rewound again counts, too."""
    point = world.have("hello")
    world.have("pay", ("pay_bill", {"bill": 1}))
    world.rewind(point)
    world.have("mail", ("send_mail", OFFER))
    world.rewind(point)
    turn = world.begin()
    assert world.call(turn, "pay_bill", bill=1).text.startswith("(recorded")
    assert world.call(turn, "send_mail", **OFFER).text.startswith("(recorded")
    assert len(world.effects) == 2


def test_other_conversations_are_asked_nothing(world: BranchedWorld) -> None:
    """The source of a fork goes on as before, and a new conversation of its chat knows nothing."""
    point = world.have("hello")
    world.have("mail the offer", ("send_mail", OFFER))
    world.fork(point)
    turn = world.begin()
    assert world.call(turn, "send_mail", to="eve").question is None
    world.end(turn)
    with job(world.db):
        sessions.end_session(world.db, "work", turn.chat_key, world.now)
    world.call(world.begin(), "send_mail", **OFFER)
    assert len(world.effects) == 3
