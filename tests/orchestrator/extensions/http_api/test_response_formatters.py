"""An answer as it grows."""

import pytest

from orchestrator.extensions.http_api.response_formatters import AnswerDelta, find_outcome_problem
from orchestrator.extensions.http_api.stored_requests import Outcome
from thinker.protocol.methods import StopReason


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
    assert [delta.take_new_text(text) for text in texts] == news


def test_request_that_is_too_long_for_the_model_is_one_that_must_be_shortened() -> None:
    """Clients know it by the code, or by words of OpenAI's and Anthropic's sentences."""
    problem = find_outcome_problem(
        Outcome(text="x", stop_reason=StopReason.OVERFLOW, error="10 tokens")
    )
    assert problem is not None
    assert (problem.status, problem.code) == (400, "context_length_exceeded")
    assert "prompt is too long" in str(problem)
    assert "exceeds the context window" in str(problem)
    assert problem.build_headers() == {"x-should-retry": "false"}
