"""What says nothing: results of checks, and answers of models."""

import pytest

from orchestrator.extensions.schedules.news import has_news, is_quiet_answer


@pytest.mark.parametrize(
    "result",
    [
        "",
        " \n\t\n",
        "exit code 0 after 0.1 s",
        "exit code 0 after 12.0 s\n\n",
        "[the file is empty]",
        "     1\t# Heartbeat\n     2\t\n     3\t<!-- nothing yet -->\n     4\t- [ ]",
        "[]",
        "{}",
        "[\n]",
        "null",
    ],
)
def test_result_without_a_word_has_no_news(result: str) -> None:
    """Blank text, success alone, a file of headings, an empty value."""
    assert not has_news(result)


@pytest.mark.parametrize(
    "result",
    [
        "exit code 0 after 0.1 s\n3 new mails",
        "exit code 1 after 0.1 s",
        "exit code 0 after 0.1 s\nstderr:\nno such host",
        "     1\t# Heartbeat\n     2\t- Ask about the parcel",
        "#general: 3 new messages",
        "0 errors",
        '[{"id": 1}]',
    ],
)
def test_everything_else_is_news(result: str) -> None:
    """A failed command above all, and lines that begin with a sign outside of a file."""
    assert has_news(result)


@pytest.mark.parametrize("answer", ["HEARTBEAT_OK", " `HEARTBEAT_OK`.\n", "**NOTHING_TO_REPORT**"])
def test_quiet_answer_is_the_word_alone(answer: str) -> None:
    """In any marks of a text."""
    assert is_quiet_answer(answer)
    assert not is_quiet_answer(f"{answer} But the tea is cold.")
