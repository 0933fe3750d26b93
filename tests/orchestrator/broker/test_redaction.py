"""Secrets are removed from streams."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.broker.redaction import Redaction

SECRET = "abcab-abcabc"


@given(
    st.lists(st.sampled_from(["abcab", SECRET, "a", "-", "abc", "b", "abcab-", " "])),
    st.lists(st.integers(0, 60)),
)
def test_no_cut_lets_a_secret_pass_and_nothing_else_changes(
    words: list[str], cuts: list[int]
) -> None:
    """Also with beginnings of the secret before it."""
    text = "".join(words).encode()
    ends = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    redaction = Redaction((SECRET,))
    pieces = [redaction.feed(text[a:b]) for a, b in pairwise(ends)]
    assert b"".join([*pieces, redaction.take_rest()]) == text.replace(SECRET.encode(), b"[key]")


def test_short_key_is_no_secret() -> None:
    """A placeholder such as ``ollama`` may be a word of an answer."""
    assert Redaction(("ollama",)).feed(b"I run on ollama") == b"I run on ollama"


def test_text_is_not_held_back_without_need() -> None:
    """Only the beginning of a secret waits."""
    redaction = Redaction((SECRET,))
    assert redaction.feed(b"hello abc") == b"hello "
    assert redaction.feed(b"d") == b"abcd"
