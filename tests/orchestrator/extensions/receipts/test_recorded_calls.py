"""The calls that an answer is held against: those of its conversation and of no other."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.branched import BranchedWorld, branched_world
from fakes.journal import job

from orchestrator.extensions.receipts.recorded_calls import load_evidence
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.turns import Turn, load_turn

AWAY = Address("telegram", "1", "8")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[BranchedWorld]:
    """A journal without a conversation."""
    with branched_world(tmp_path) as made:
        yield made


def states(world: BranchedWorld, turn: Turn) -> list[tuple[str, str]]:
    """The tools and states of the calls that count for a turn."""
    facts = load_evidence(world.db, turn).build_facts()
    return [(fact.tool, fact.state) for fact in facts.calls]


def test_calls_of_earlier_turns_count_in_their_order(world: BranchedWorld) -> None:
    """With arguments and results; those of another chat do not count."""
    world.have("mail", ("send_mail", {"to": "bob"}))
    world.have("mail", ("send_mail", {"to": "eve"}), at=AWAY)
    turn = world.begin()
    world.call(turn, "pay_bill", amount=5)
    assert states(world, turn) == [("send_mail", "done"), ("pay_bill", "done")]
    first = load_evidence(world.db, turn).build_facts().calls[0]
    assert (first.arguments, first.result) == ('{"to":"bob"}', "send_mail ok")


@pytest.mark.parametrize(
    ("left", "state"), [("failed", "failed"), ("unknown", "unknown"), ("intent", "unknown")]
)
def test_outcome_of_a_call_is_told(world: BranchedWorld, left: str, state: str) -> None:
    """A call that began and has no result may have happened."""
    turn = world.begin()
    world.leave(turn, "send_mail", left)
    assert states(world, turn) == [("send_mail", state)]


def test_refused_call_is_denied(world: BranchedWorld) -> None:
    """An operator has said no; until then it waits."""
    world.configured = ("send_mail",)
    turn = world.begin()
    asked = world.call(turn, "send_mail", to="bob")
    assert states(world, turn) == [("send_mail", "waiting")]
    world.decide(asked, granted=False)
    world.try_again(turn, asked.call)
    assert states(world, turn) == [("send_mail", "denied")]


@pytest.mark.parametrize("wait", [True, False])
def test_calls_of_subagents_count_at_any_depth(world: BranchedWorld, *, wait: bool) -> None:
    """And the call that began one is not over while it works."""
    turn = world.begin()
    helper = world.delegate(turn, "mail", wait=wait)
    world.call(world.delegate(helper, "really", wait=wait), "send_mail", to="bob")
    found = states(world, turn)
    assert ("send_mail", "done") in found
    assert [state for tool, state in found if tool == "spawn"] == ["waiting", "waiting"]


def test_what_was_rewound_does_not_count_and_what_was_kept_does(world: BranchedWorld) -> None:
    """A recorded result counts as done before."""
    point = world.have("pay_bill", ("pay_bill", {"amount": 1}))
    world.have("mail", ("send_mail", {"to": "bob"}))
    world.rewind(point)
    turn = world.begin()
    assert states(world, turn) == [("pay_bill", "done")]
    world.call(turn, "send_mail", to="bob")
    assert states(world, turn) == [("pay_bill", "done"), ("send_mail", "ledger")]


def test_turn_without_history_has_only_its_own_calls(world: BranchedWorld) -> None:
    """Yesterday's run of a task shows nothing about today's."""
    world.have("mail", ("send_mail", {"to": "bob"}))
    turn = world.begin()
    with job(world.db):
        world.db.execute("UPDATE turn SET recipe = 'proactive' WHERE id = ?", (turn.id,))
    task = load_turn(world.db, turn.id)
    world.call(task, "pay_bill", amount=5)
    assert states(world, task) == [("pay_bill", "done")]
