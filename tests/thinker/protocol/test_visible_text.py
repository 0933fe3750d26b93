"""What a text hides is shown or left out, and people's scripts stay as they are."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinker.protocol.visible_text import (
    escape_hidden,
    format_one_line,
    make_printable,
    remove_hidden,
    remove_misleading,
)

REORDERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
MARKS = "\u061c\u200e\u200f"
SHAPELESS = "\u200b\u2060\u2063\ufeff\u3164\U000e0001\U000e0041\U000e01ef"
SCRIPTS = [
    "\u05e9\u05dc\u05d5\u05dd, \u0645\u0631\u062d\u0628\u0627 123",  # Hebrew, Arabic
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian needs its joiners
    "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN} \u2764\ufe0f 5\N{NO-BREAK SPACE}kg",
]


@pytest.mark.parametrize("text", SCRIPTS)
def test_scripts_and_emoji_stay(text: str) -> None:
    """Right-to-left letters have a direction of their own."""
    assert (
        make_printable(text)
        == remove_misleading(text)
        == remove_hidden(text)
        == escape_hidden(text)
        == text
    )


@pytest.mark.parametrize("sign", [*REORDERING, *MARKS, *SHAPELESS])
def test_hidden_signs_reach_no_terminal_and_no_label(sign: str) -> None:
    """A terminal shows that something was there; a label is what one sees."""
    assert make_printable(f"a{sign}b") == "a\ufffdb"
    assert remove_hidden(f"a{sign}b") == "ab"
    assert json.loads(escape_hidden(json.dumps(f"a{sign}b", ensure_ascii=False))) == f"a{sign}b"
    assert sign not in escape_hidden(sign)


def test_marks_of_direction_stay_in_prose_and_overrides_do_not() -> None:
    """Hebrew writers use the marks; no writer has to turn a whole text around."""
    assert remove_misleading(f"a{MARKS}b") == f"a{MARKS}b"
    assert remove_misleading(f"a{REORDERING}{SHAPELESS}b") == "ab"


def test_a_flag_keeps_its_tags_and_no_other_text_has_any() -> None:
    """Tags spell a text that no person sees."""
    england = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    assert remove_misleading(england) == england
    assert remove_misleading("\U0001f3f4" + "\U000e0041" * 50) == "\U0001f3f4"


@given(st.text(st.sampled_from(f'a "\\\n\t`{REORDERING}{SHAPELESS}\N{OPEN BOX}\u2028\x85\xa0')))
def test_one_line_of_json_keeps_its_value(text: str) -> None:
    """Only boxes stand for spaces, so that a reader can undo it."""
    shown = format_one_line(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown.replace("\N{OPEN BOX}", " ")) == text
    assert shown.isprintable()
    assert "   " not in shown
