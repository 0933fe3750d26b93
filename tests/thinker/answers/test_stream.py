"""A streamed answer says what becomes known, whatever the pieces are."""

import json

from hypothesis import given
from hypothesis import strategies as st

from thinker.answers.reader import JsonEvent
from thinker.answers.snapshots import Snapshots
from thinker.answers.stream import AnswerStream

ANSWER = {"reply": 'Hi "you" 😀\n', "items": [{"id": 1, "tags": ["a", ""]}], "ok": True, "no": None}
TEXT = f"Well, {{maybe}} [1] this:\n[OUTPUT]:\n```json\n{json.dumps(ANSWER)}\n``` {{bye}}"


@given(st.lists(st.integers(0, len(TEXT)), max_size=20))
def test_any_pieces_give_the_whole(cuts: list[int]) -> None:
    """The value at the end, each value once, and strings that their deltas add up to."""
    at = sorted(cuts)
    stream = AnswerStream()
    events: list[JsonEvent] = []
    for start, end in zip([0, *at], [*at, len(TEXT)], strict=True):
        events += stream.feed(TEXT[start:end])
    events += stream.finish()
    assert stream.value == ANSWER
    done = [(event.path, event.value) for event in events if event.kind == "done"]
    assert done == [
        ("reply", ANSWER["reply"]),
        ("items[0].id", 1),
        ("items[0].tags[0]", "a"),
        ("items[0].tags[1]", ""),
        ("items[0].tags", ["a", ""]),
        ("items[0]", {"id": 1, "tags": ["a", ""]}),
        ("items", ANSWER["items"]),
        ("ok", True),
        ("no", None),
    ]
    reply = "".join(event.delta for event in events if event.path == "reply")
    assert reply == ANSWER["reply"]


def test_a_cut_stream_gives_what_came() -> None:
    """The open string is done with the stream; nothing is said twice."""
    stream = AnswerStream()
    assert stream.feed('{"a": "he') == (JsonEvent("a", "delta", delta="he"),)
    assert stream.feed("y") == (JsonEvent("a", "delta", delta="y"),)
    assert stream.finish() == (JsonEvent("a", "done", value="hey"),)
    assert stream.finish() == ()
    assert stream.value == {"a": "hey"}


def test_a_list_is_found_when_the_contract_is_one() -> None:
    """The prompt's last line, which models repeat, is no list even when it is cut."""
    stream = AnswerStream("[")
    events = [
        event for piece in ("[OUT", "PUT]: ", "[1, ", "{", "}]") for event in stream.feed(piece)
    ]
    assert [(event.path, event.value) for event in events] == [("[0]", 1), ("[1]", {})]
    assert stream.value == [1, {}]


def test_what_turns_out_to_be_prose_is_said_alike_for_every_chunking() -> None:
    """It cannot be taken back where it came piece by piece (found by the fuzzer)."""
    for pieces in (["[{}{"], list("[{}{")):
        stream = AnswerStream("[")
        events = [event for piece in pieces for event in stream.feed(piece)]
        assert [(event.path, event.value) for event in events] == [("[0]", {})]
        assert stream.finish() == ()
        assert stream.value is None


def test_a_stream_without_an_answer_has_none() -> None:
    """Prose, broken JSON, nothing."""
    for text in ("prose {only}", '{"a": tru}', "", "["):
        stream = AnswerStream()
        stream.feed(text)
        stream.finish()
        assert stream.value is None


def test_upstreams_events_say_done_when_a_later_field_began() -> None:
    """And the rest at the end, inner values first."""
    stream = Snapshots({"a": (str,), "b": {"c": (str,)}})
    said = [
        [(change.path, change.event_type, change.delta) for change in stream.feed(piece)]
        for piece in ('{"a": "x', 'y", ', '"b": {"c": "z"', "}")
    ]
    assert said == [
        [("a", "delta", "x")],
        [("a", "delta", "y")],
        [("a", "done", None), ("b.c", "delta", "z")],
        [("b.c", "done", None)],
    ]
    assert [change.path for change in stream.finish()] == ["b"]
