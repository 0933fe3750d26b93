"""The areas history_repair and history_truncation, through the product's functions."""

from typing import Any

import pytest
from vector_cases import cases, to_messages

from thinker.history import repair, shorten


@pytest.mark.parametrize(("name", "given", "expected"), cases("history_repair"))
def test_history_is_repaired_as_expected(
    name: str, given: list[dict[str, Any]], expected: list[dict[str, Any]]
) -> None:
    """Orphans out, missing results filled."""
    del name
    assert repair(to_messages(given)) == to_messages(expected)


@pytest.mark.parametrize(("name", "given", "expected"), cases("history_truncation"))
def test_old_results_are_shortened_as_expected(
    name: str, given: dict[str, Any], expected: list[dict[str, Any]]
) -> None:
    """Results before the last exchanges become a note."""
    del name
    shortened = shorten(to_messages(given["messages"]), given["preserveLastN"])
    assert shortened == to_messages(expected)
