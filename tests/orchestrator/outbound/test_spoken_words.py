"""What is spoken of an answer: its words, as a person would read them out."""

import pytest

from orchestrator.outbound.spoken_words import MAX_SPOKEN, extract_spoken_words

CODE = "```python\nprint(1)\n```"


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("Hello, **Ada**! It is *so* `late`.", "Hello, Ada! It is so late."),
        ("## Tea\n\n- green\n* black\n1. water", "Tea\n\ngreen\nblack\n1. water"),
        ("> quoted _words_\n> here", "quoted words\nhere"),
        ("See [the page](https://a.example/x_y) or https://b.example.", "See the page or"),
        (f"Run this:\n\n{CODE}\n\nThen wait.", "Run this:\n\nThen wait."),
        ("Unfinished:\n```\nrm -rf", "Unfinished:"),
        ("| a | b |\n|---|--:|\n| 1 | 2 |", "a b\n\n1 2"),
        ("snake_case, 2 * 3 * 4 and 5 < 6", "snake_case, 2 * 3 * 4 and 5 < 6"),
        ("a<br>b <https://c.example>", "ab"),
        (CODE, ""),
        ("— 🎉 …", ""),
        ("", ""),
    ],
)
def test_words_are_left_and_marks_are_gone(markdown: str, words: str) -> None:
    """Code, addresses and formatting are for the eye."""
    assert extract_spoken_words(markdown) == words


def test_long_answer_is_cut_after_a_sentence() -> None:
    """The text has the rest."""
    found = extract_spoken_words("One more sentence. " * 500)
    assert MAX_SPOKEN - 40 < len(found) <= MAX_SPOKEN
    assert found.endswith("sentence.")


def test_endless_sentence_is_cut_between_words() -> None:
    """And one word anywhere."""
    assert extract_spoken_words("word " * 2000).endswith("word")
    assert len(extract_spoken_words("w" * 9000)) == MAX_SPOKEN
