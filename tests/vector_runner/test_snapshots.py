"""Events of a streaming answer, as Agently 4.0.7 reports them."""

from vector_runner.snapshots import Snapshots


def test_field_is_done_when_a_later_one_begins() -> None:
    """The rest is done at the end, inner values first."""
    stream = Snapshots({"a": (str,), "b": {"c": (str,)}})
    changes = [
        [(change.path, change.event_type, change.delta) for change in stream.feed(piece)]
        for piece in ('{"a": "x', 'y", ', '"b": {"c": "z"', "}")
    ]
    assert changes == [
        [("a", "delta", "x")],
        [("a", "delta", "y")],
        [("a", "done", None), ("b.c", "delta", "z")],
        [("b.c", "done", None)],
    ]
    assert [change.path for change in stream.finish()] == ["b"]
