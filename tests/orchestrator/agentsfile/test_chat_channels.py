"""Rules for groups that cannot be used are errors."""

from typing import Any

import pytest
from fakes.agents_file import WORK, parsed
from fakes.carrier import CarrierChannel


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"patterns": ["tea("]}, ('"groups.patterns[0]"', "unclosed group")),
        ({"chats": {"-200": {"patterns": ["(?=x)"]}}}, ("look-around",)),
        ({"answer": ["everything"]}, ("'mention', 'reply' or 'all'",)),
        ({"anwser": ["all"]}, ('did you mean "answer"?',)),
    ],
)
def test_wrong_rule_is_an_error_and_closes_the_channel(
    groups: dict[str, Any], words: tuple[str, ...]
) -> None:
    """It would answer others than its author meant."""
    found = parsed(WORK, channels={"carrier": {"groups": groups}})
    (problem,) = found.errors
    assert all(word in problem.message for word in words)
    assert problem.line == 1
    assert not found.file.channels.get_settings(CarrierChannel).enabled
