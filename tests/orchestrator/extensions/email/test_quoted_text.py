"""What a person wrote is kept, what a mail repeats is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.email.quoted_text import split_quoted_text

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
    assert (split_quoted_text(text, answer=True).own or text) == own


def test_a_forwarded_mail_is_kept() -> None:
    """It is what the bot is asked about."""
    text = "look\n\n---------- Forwarded message ---------\nFrom: x\nDate: y\n\nbody\n> quoted"
    found = split_quoted_text(text, answer=False)
    assert found.own == "look"
    assert found.quoted == text.removeprefix("look\n\n")
    assert found.forwarded


@pytest.mark.parametrize(
    "text",
    [
        "see\n\nBegin forwarded message:\n\n> From: x\n> Subject: y\n>\n> body",
        "see\n\n________________________________\nFrom: x\nSent: y\n\nbody",
        "see\n-------- Weitergeleitete Nachricht --------\nBetreff: y\n\nbody",
    ],
)
def test_programs_mark_a_forwarded_mail_differently(text: str) -> None:
    """Its subject tells where its text does not."""
    found = split_quoted_text(text, answer=True, forwarded=True)
    assert (found.own, found.forwarded) == ("see", True)
    assert "body" in found.quoted


def test_a_quote_comes_without_its_marks() -> None:
    """A deeper one keeps one less."""
    found = split_quoted_text("no\n\nAnn wrote 5:\n> at five?\n> > when?", answer=True)
    assert (found.own, found.quoted) == ("no", "Ann wrote 5:\nat five?\n> when?")


@given(st.lists(st.sampled_from(["", ">", "> a", "--", "b", ON, "From: x", "____" * 6])))
def test_words_are_never_lost(lines: list[str]) -> None:
    """Whatever is above and below, what a person wrote first is there."""
    text = "\n".join(["my own words", *lines])
    assert split_quoted_text(text, answer=True).own.startswith("my own words")
