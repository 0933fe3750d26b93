"""The parts that turns share cross the wire once."""

import pytest
from fakes.scripted import spec, turn_run

from thinker.protocol.methods import (
    NOT_KEPT,
    ListedSkill,
    ReceivedTurnCache,
    SentTurnCache,
    TurnRun,
)
from thinker.protocol.peer import RpcError

SKILL = ListedSkill(name="s", description="d")


def run(text: str = "hello", **fields: object) -> TurnRun:
    """Return a turn with something in every shared part."""
    parts = {"prompt": {"root": "x"}, "playbooks": ({"id": 1},), "skills": (SKILL,)}
    return turn_run(text, spec("a"), **{**parts, **fields})


def crossed(sent: TurnRun) -> TurnRun:
    """Return a turn as the other process reads it."""
    return TurnRun.model_validate_json(sent.model_dump_json())


def same(one: TurnRun, other: TurnRun) -> bool:
    """Return whether two turns are equal, however they were sent."""
    exclude = {"keep", "kept"}
    return one.model_dump(exclude=exclude) == other.model_dump(exclude=exclude)


def test_what_stays_is_sent_once_and_every_turn_is_whole() -> None:
    """As the same objects, so that anything built from them can be cached."""
    sent, kept = SentTurnCache(), ReceivedTurnCache()
    first, second = (crossed(sent.shorten_turn(run(text))) for text in ("one", "two"))
    assert (first.tools, second.tools) == ((spec("a"),), ())
    whole = [kept.restore_turn(turn) for turn in (first, second)]
    assert same(whole[0], run("one"))
    assert same(whole[1], run("two"))
    assert whole[0].tools is whole[1].tools


@pytest.mark.parametrize("field", ["prompt", "playbooks", "skills", "tools"])
def test_what_changed_is_sent_again(field: str) -> None:
    """Also from something to nothing, and back."""
    without: dict[str, object] = {field: None if field == "prompt" else ()}
    sent, kept = SentTurnCache(), ReceivedTurnCache()
    for turn in (run(), run("hello", **without), run(), run()):
        assert same(kept.restore_turn(crossed(sent.shorten_turn(turn))), turn)


def test_a_process_without_the_parts_says_so() -> None:
    """Then it is sent them."""
    sent, kept = SentTurnCache(), ReceivedTurnCache()
    sent.shorten_turn(run())
    with pytest.raises(RpcError) as refused:
        kept.restore_turn(sent.shorten_turn(run()))
    assert refused.value.code == NOT_KEPT
    sent.forget_parts()
    assert same(kept.restore_turn(sent.shorten_turn(run())), run())


def test_an_older_edition_is_not_taken_for_the_newest() -> None:
    """A turn that was on its way at the change is requested whole."""
    sent, kept = SentTurnCache(), ReceivedTurnCache()
    kept.restore_turn(sent.shorten_turn(run()))
    late = sent.shorten_turn(run())
    kept.restore_turn(sent.shorten_turn(run(skills=())))
    with pytest.raises(RpcError):
        kept.restore_turn(late)


def test_a_turn_that_keeps_nothing_is_as_it_is() -> None:
    """As a person or a test writes it."""
    turn = run()
    assert ReceivedTurnCache().restore_turn(turn) is turn
