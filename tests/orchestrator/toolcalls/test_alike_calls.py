"""Alike calls are told together, with what they differ in."""

from orchestrator.toolcalls.alike_calls import AlikeCalls, group_alike_calls
from thinker.protocol.messages import JsonObject


def test_calls_of_one_tool_with_the_same_names_are_one_group() -> None:
    """Wherever they stand; what is the same in all of them does not differ."""
    calls: list[tuple[str, JsonObject]] = [
        ("mail", {"to": "a", "body": "x", "cc": [1]}),
        ("pay", {"sum": 1}),
        ("mail", {"cc": [1], "to": "b", "body": "x"}),
    ]
    assert group_alike_calls(calls) == [
        AlikeCalls((0, 2), ("to",)),
        AlikeCalls((1,), ()),
    ]


def test_calls_with_other_names_or_types_are_not_alike() -> None:
    """1 is not true, and an argument more is another call."""
    calls: list[tuple[str, JsonObject]] = [
        ("mail", {"to": "a"}),
        ("mail", {"to": "a", "cc": "b"}),
        ("mail", {"to": "a"}),
    ]
    assert [group.places for group in group_alike_calls(calls)] == [(0, 2), (1,)]
    (group,) = group_alike_calls([("pay", {"sum": 1}), ("pay", {"sum": True})])
    assert group.differing == ("sum",)
