"""What a person wrote is kept, what a mail repeats is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.email.quoted_text import strip_quoted_text

ON = "On Thu, Nov 26, 2026 at 1:00 PM Bot <bot@x.example> wrote:"


@pytest.mark.parametrize(
    ("text", "own"),
    [
        (f"Yes.\n\n{ON}\n\n> old\n> text\n", "Yes."),
        ("Yes.\n\nOn Thu, Nov 26, 2026 Bot\n<bot@x.example> wrote:\n> old", "Yes."),
        ("Ja\nAm 26.11.26 um 12:00 schrieb bot@x.example:\n> alt\n", "Ja"),
        ("bot@x.example, 26.11.:\n> old\n\nnew\n-- \nAnn\nCEO", "new"),
        ("> first?\nyes\n> second?\nno", "> first?\nyes\n> second?\nno"),
        ("Look:\n> old", "Look:"),
        ("> only this", "> only this"),
        ("fine\n\n-----Original Message-----\nFrom: Bot\nSent: today\n\nold", "fine"),
        ("fine\n________________________________\nFrom: Bot\nSent: today\n\nold", "fine"),
        ("fine\n\nVon: Bot <b@x.example>\nGesendet: heute\nAn: a\n\nalt", "fine"),
        ("From: here to there\nwe go: yes", "From: here to there\nwe go: yes"),
        ("a\n---\nb", "a\n---\nb"),
        ("one\r\ntwo  \r\n", "one\ntwo"),
    ],
)
def test_an_answer_is_without_what_it_answers(text: str, own: str) -> None:
    """Answers between the lines keep them, and all is kept where nothing else would be left."""
    assert strip_quoted_text(text, answer=True) == own


def test_a_forwarded_mail_is_kept() -> None:
    """It is what the bot is asked about."""
    text = "look\n\n---------- Forwarded message ---------\nFrom: x\nDate: y\n\nbody\n> quoted"
    assert strip_quoted_text(text, answer=False) == text


@given(st.lists(st.sampled_from(["", ">", "> a", "--", "b", ON, "From: x", "____" * 6])))
def test_words_are_never_lost(lines: list[str]) -> None:
    """Whatever is above and below, what a person wrote first is there."""
    text = "\n".join(["my own words", *lines])
    assert strip_quoted_text(text, answer=True).startswith("my own words")
