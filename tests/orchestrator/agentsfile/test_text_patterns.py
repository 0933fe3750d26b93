"""Patterns of agents.json: what they find, and which are refused."""

import pytest
from pydantic import TypeAdapter, ValidationError

from orchestrator.agentsfile.text_patterns import MAX_SEEN, TextPattern, matches_pattern

PATTERN = TypeAdapter[str](TextPattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("tea", "Green TEA, please"),
        (r"^(hey|hi),? bot\b", "Hi bot!"),
        (r"\b茶\w", "好 茶杯"),
        ("a|b", "xb"),
        ("(?-i)Tea", "Tea"),
    ],
)
def test_pattern_is_found_anywhere_in_any_case(pattern: str, text: str) -> None:
    """Unless it says otherwise itself."""
    assert PATTERN.validate_python(pattern) == pattern
    assert matches_pattern(pattern, text)
    assert not matches_pattern(pattern, "coffee")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "unclosed group"),
        ("a)(b", "unopened group"),
        ("(?=tea)", "look-around"),
        (r"(tea)\1", "backreferences are not supported"),
        (r"\w{9000}", "exceeds size limit"),
        ("", "at least 1 character"),
        ("x" * 201, "at most 200 characters"),
    ],
)
def test_pattern_that_cannot_be_used_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    """What would need to go back in the text is named."""
    with pytest.raises(ValidationError, match=reason):
        PATTERN.validate_python(pattern)


def test_text_that_makes_other_engines_slow_is_soon_done() -> None:
    """An engine that goes back tries each of the 2**999 ways to cut the text."""
    for pattern in ("(a+)+$", "(a|a)*b", "(.*)*x", r"(\w+\s?)+!"):
        PATTERN.validate_python(pattern)
        assert not matches_pattern(pattern, "a" * (MAX_SEEN - 1) + "-")
