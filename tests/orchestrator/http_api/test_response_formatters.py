"""An answer as it grows."""

import pytest

from orchestrator.http_api.response_formatters import AnswerDelta


@pytest.mark.parametrize(
    ("texts", "news"),
    [
        (("He", "Hello"), [("He", False), ("llo", False)]),
        (("Hello", "Hello"), [("Hello", False), ("", False)]),
        (("Hello \n", "Hello"), [("Hello \n", False), ("", False)]),
        (("Let me see", "It is"), [("Let me see", False), ("It is", True)]),
        (("", "It is"), [("", False), ("It is", False)]),
        (("  ", "It is"), [("  ", False), ("It is", False)]),
    ],
)
def test_what_is_new_is_sent_once(texts: tuple[str, ...], news: list[tuple[str, bool]]) -> None:
    """The rest of the same text, or another one, said after a tool call."""
    delta = AnswerDelta()
    assert [delta.advance(text) for text in texts] == news
