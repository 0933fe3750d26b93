"""Server-sent events and text in pieces give the same result for every chunking."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinker.models.streaming import EventReader, TextBuffer

PAYLOADS = [b'{"a":1}', '{"text":"line\u2028next\u0085end"}'.encode(), b"[DONE]"]


def read(chunks: list[bytes]) -> list[bytes]:
    """Return the events of a stream with these chunks."""
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.close()


@given(st.data())
def test_chunking_never_changes_the_events(data: st.DataObject) -> None:
    """Any cut, also inside a character, gives the same payloads."""
    end = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    bom = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    stream = bom + b": hello" + end * 2 + b"".join(b"data: " + p + end * 2 for p in PAYLOADS)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    edges = [0, *cuts, len(stream)]
    chunks = [stream[a:b] for a, b in pairwise(edges)]
    assert read(chunks) == PAYLOADS


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data:x\n\n", [b"x"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"event: ping\nid: 1\ndata: x\n\n", [b"x"]),
        (b"data: last", [b"last"]),
        (b"data: last\n", [b"last"]),
        (b"event: nothing\n\n", []),
        (b"data: {}\ndata: {}\ndata:[DONE]\n", [b"{}", b"{}", b"[DONE]"]),
        (b'data: {"a":\ndata: {}}\n\n', [b'{"a":\n{}}']),
        (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
        (b'{\n "a": {}\n}\n', [b'{\n "a": {}\n}']),
        (b'data: {}\n\n{"error":"x"}\n', [b"{}", b'{"error":"x"}']),
        (b"<html>\nBad\n</html>", [b"<html>\nBad\n</html>"]),
        (b"data: {}\n\nnoise\n", [b"{}"]),
        (b'error: {"code":500}\n\n', [b'{"error": {"code":500}}']),
        (b"", []),
    ],
)
def test_every_form_of_event_is_read(stream: bytes, events: list[bytes]) -> None:
    """Fields without a space, several data lines, other fields, JSON without fields, no end."""
    assert read([stream]) == events


def test_the_end_mark_needs_no_blank_line() -> None:
    """A connection that stays open after it is not waited for."""
    assert EventReader().feed(b"data: [DONE]\n") == [b"[DONE]"]


def test_text_is_all_its_pieces_whenever_it_is_read() -> None:
    """Empty pieces and None add nothing."""
    growing = TextBuffer()
    assert growing.text == ""
    for piece in ("a", None, "", "b"):
        growing.add(piece)
    assert growing.text == "ab"
    growing.add("c")
    assert (growing.text, growing.text) == ("abc", "abc")
