"""A model's word on a check."""

import pytest

from orchestrator.extensions.workbench.check_opinions import read_opinion


@pytest.mark.parametrize(
    ("word", "met", "text"),
    [
        ("YES", True, "yes, in the model's opinion"),
        ("NO", False, "no, in the model's opinion"),
        ("YES,\n BUT", None, "undecided; the model said: YES, BUT"),
        ("", None, "undecided; the model said: nothing"),
    ],
)
def test_only_yes_and_no_are_opinions(word: str, *, met: bool | None, text: str) -> None:
    """Whatever else a model says leaves the check open."""
    assert read_opinion(word) == (met, text)
