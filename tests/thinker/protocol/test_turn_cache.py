"""What turns have in common crosses the wire once."""

import pytest
from fakes.scripted import spec, turn_run

from thinker.protocol.methods import ListedSkill, TurnRun
from thinker.protocol.peer import RpcError
from thinker.protocol.turn_cache import NOT_KEPT, ReceivedTurnCache, SentTurnCache

SKILL = ListedSkill(name="s", description="d")


def run(text: str = "hello", **fields: object) -> TurnRun:
    """A turn with something of everything that is kept."""
    parts = {"prompt": {"root": "x"}, "playbooks": ({"id": 1},), "skills": (SKILL,)}
    return turn_run(text, spec("a"), **{**parts, **fields})


def crossed(sent: TurnRun) -> TurnRun:
    """A turn as the other process reads it."""
    return TurnRun.model_validate_json(sent.model_dump_json())


def same(one: TurnRun, other: TurnRun) -> bool:
    """Whether they are one turn, however they were sent."""
    exclude = {"keep", "kept"}
    return one.model_dump(exclude=exclude) == other.model_dump(exclude=exclude)


def test_what_stays_is_sent_once_and_every_turn_is_whole() -> None:
    """The same objects, even, so that what was made of them can be kept as well."""
    told, kept = SentTurnCache(), ReceivedTurnCache()
    first, second = (crossed(told.shortened(run(text))) for text in ("one", "two"))
    assert (first.tools, second.tools) == ((spec("a"),), ())
    whole = [kept.whole(turn) for turn in (first, second)]
    assert same(whole[0], run("one"))
    assert same(whole[1], run("two"))
    assert whole[0].tools is whole[1].tools


@pytest.mark.parametrize("field", ["prompt", "playbooks", "skills", "tools"])
def test_what_changed_is_sent_again(field: str) -> None:
    """Even to nothing, and back."""
    without: dict[str, object] = {field: None if field == "prompt" else ()}
    told, kept = SentTurnCache(), ReceivedTurnCache()
    for turn in (run(), run("hello", **without), run(), run()):
        assert same(kept.whole(crossed(told.shortened(turn))), turn)


def test_a_process_that_was_never_told_says_so() -> None:
    """And is told then."""
    told, kept = SentTurnCache(), ReceivedTurnCache()
    told.shortened(run())
    with pytest.raises(RpcError) as refused:
        kept.whole(told.shortened(run()))
    assert refused.value.code == NOT_KEPT
    told.forget()
    assert same(kept.whole(told.shortened(run())), run())


def test_an_older_edition_is_not_taken_for_the_newest() -> None:
    """A turn that was on its way when it changed is asked for whole."""
    told, kept = SentTurnCache(), ReceivedTurnCache()
    kept.whole(told.shortened(run()))
    late = told.shortened(run())
    kept.whole(told.shortened(run(skills=())))
    with pytest.raises(RpcError):
        kept.whole(late)


def test_a_turn_that_keeps_nothing_is_as_it_is() -> None:
    """As a person or a test writes it."""
    turn = run()
    assert ReceivedTurnCache().whole(turn) is turn
