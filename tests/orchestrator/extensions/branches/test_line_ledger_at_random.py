"""Hundreds of conversations go on from an earlier point, and act once or ask."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.branched import BranchedWorld, branched_world

from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.turns import Turn
from thinker.protocol.messages import JsonObject

RUNS = 25  # of each kind
ACTS = ("send_mail", "pay_bill", "delete_file", "create_event", "upload_report")
REWORDINGS = {
    "send_mail": "post_message",
    "pay_bill": "transfer_money",
    "delete_file": "cancel_order",
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[BranchedWorld]:
    """A journal without a conversation."""
    with branched_world(tmp_path) as made:
        yield made


def describe(name: str, arguments: JsonObject) -> str:
    """A call as one line."""
    return f"{name} {json.dumps(arguments, sort_keys=True)}"


def reword(chosen: random.Random, name: str, arguments: JsonObject) -> tuple[str, JsonObject]:
    """Do the same in other words: another tool, another argument, or one more."""
    way = chosen.choice(("tool", "value", "more"))
    if way == "tool" and name in REWORDINGS:
        return REWORDINGS[name], arguments
    changed = {"note": "again"} if way == "more" else {"what": f"{arguments['what']}, please"}
    return name, {**arguments, **changed}


def go_on(world: BranchedWorld, point: str, home: Address, number: int, *, forked: bool) -> Turn:
    """A turn of a conversation that goes on from a point."""
    if forked:
        return world.begin(at=world.fork(point, f"fork-{number}").address)
    world.rewind(point)
    return world.begin(at=home)


@pytest.mark.parametrize("obedient", [True, False])
def test_no_effect_happens_twice_without_a_question(
    world: BranchedWorld, *, obedient: bool
) -> None:
    """A model repeats all that was done, or does the like in other words, by chats and forks."""
    chosen = random.Random(7)  # noqa: S311 - no secret
    for number in range(RUNS):
        home = Address("telegram", "1", str(100 + number))
        world.have("hello", at=home)
        point = world.have("so?", at=home)
        calls: list[tuple[str, JsonObject]] = [
            (name, {"what": f"{name} {number}"})
            for name in chosen.sample(ACTS, chosen.randint(1, 3))
        ]
        world.have("do it", *calls, at=home)
        before = Counter(describe(*effect) for effect in world.effects)
        turn = go_on(world, point, home, number, forked=chosen.random() < 0.5)
        for name, arguments in calls:
            repeated = (name, arguments) if obedient else reword(chosen, name, arguments)
            outcome = world.call(turn, repeated[0], **repeated[1])
            assert (outcome.question is None) is obedient, describe(*repeated)
            if outcome.question is not None:
                world.decide(outcome, granted=False)
                assert not world.try_again(turn, outcome.call).done
        world.end(turn)
        assert Counter(describe(*effect) for effect in world.effects) == before


def test_two_forks_of_one_point_have_no_effect_together(world: BranchedWorld) -> None:
    """Their calls come in any order, among crashes, and each is answered by the record once."""
    chosen = random.Random(8)  # noqa: S311 - no secret
    for number in range(RUNS):
        home = Address("telegram", "1", str(100 + number))
        point = world.have("hello", at=home)
        world.have("do it", ("pay_bill", {"what": number}), at=home)
        done = len(world.effects)
        made = [world.fork(point, f"{number}-{name}").address for name in ("a", "b")]
        both = [world.begin(at=address) for address in made]
        planned = [
            (turn, world.plan(turn, "pay_bill", {"what": number + extra}))
            for turn in both
            for extra in (0, 1)
        ]
        chosen.shuffle(planned)
        outcomes = []
        for turn, call in planned:
            world.crash(turn)
            first = world.try_again(turn, call)
            world.crash(turn)
            outcomes.append(world.try_again(turn, call))
            assert outcomes[-1] == first
        asked = sum(one.question is not None for one in outcomes)
        assert len(world.effects) == done
        assert (asked, len(outcomes)) == (2, 4)


# What people fork for, as calls before and after: to ask anew, to do something else, to correct
# what is only theirs, to go on with what was done.
BENIGN: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("look_up",), ("look_up", "look_up")),
    (("look_up", "keep_note"), ("look_up", "keep_note", "keep_note")),
    (("keep_note",), ("keep_note", "send_mail")),
    (("send_mail",), ("look_up", "keep_note")),
    (("send_mail",), ("create_event",)),
    (("create_event",), ("send_mail", "look_up")),
    (("upload_report", "look_up"), ("look_up", "send_mail")),
    (("send_mail", "keep_note"), ("=send_mail", "keep_note")),
    (("create_event",), ("=create_event", "set_light")),
    (("pay_bill", "look_up"), ("=pay_bill", "look_up", "keep_note")),
)


def test_forks_that_do_nothing_alike_ask_nothing(world: BranchedWorld) -> None:
    """A hundred of them: other tools, other reads, notes, and what is the same (``=``)."""
    asked: list[str] = []
    for number in range(100):
        earlier, later = BENIGN[number % len(BENIGN)]
        home = Address("telegram", "1", str(100 + number))
        point = world.have("hello", at=home)
        done: list[tuple[str, JsonObject]] = [(name, {"what": f"{number}"}) for name in earlier]
        world.have("do it", *done, at=home)
        turn = world.begin(at=world.fork(point, f"fork-{number}").address)
        for place, name in enumerate(later):
            what = f"{number}" if name.startswith("=") else f"{number}, {place}"
            outcome = world.call(turn, name.strip("="), what=what)
            asked += [] if outcome.question is None else [outcome.question.reason]
        if not asked:
            world.end(turn)
    assert asked == []
