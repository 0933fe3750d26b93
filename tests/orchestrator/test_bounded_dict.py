"""What was set last is kept."""

from orchestrator.bounded_dict import BoundedDict


def test_the_entry_that_was_not_set_for_longest_goes_first() -> None:
    """Setting one again makes it the newest."""
    recent = BoundedDict[str, int](2)
    recent["a"], recent["b"] = 1, 2
    recent["a"] = 3
    recent["c"] = 4
    assert recent == {"a": 3, "c": 4}
    assert [*recent] == ["a", "c"]
