"""Tables that fit the terminal."""

import pytest
from rich.cells import cell_len

from orchestrator.cli.tables import fold_text, render_table

HEAD = ("code", "agent", "chat", "tool", "until (UTC)", "arguments", "why")
ROW = (
    "K7M2Q9",
    "home",
    "telegram:555",
    "send_message",
    "2026-11-23 19:02",
    '{"chat_id": "555", "text": "a long text of many words, which a person is to read"}',
    "the tool needs approval",
)


@pytest.mark.parametrize("width", [10, 20, 40, 80, 120, 1000])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(width: int) -> None:
    """At any width, also far too narrow a one."""
    lines = list(render_table(HEAD, [ROW, ROW], width))
    assert max(map(cell_len, lines)) <= width
    for word in " ".join(ROW).split():
        assert sum(word[: width // 2] in line for line in lines) >= 1


def test_long_texts_stand_below_their_row_and_ids_and_dates_stay_whole() -> None:
    """On 80 columns a row is a line with the texts under it."""
    lines = list(render_table(HEAD, [ROW], 80))
    assert lines[1].split("  ")[:2] == ["K7M2Q9", "home"]
    assert lines[1].endswith("2026-11-23 19:02")
    assert lines[2].startswith('  arguments: {"chat_id": "555",')
    assert lines[-1] == "  why: the tool needs approval"


def test_one_long_column_is_folded_at_words_if_there_is_room() -> None:
    """The rows stay rows."""
    text = "one two three four five six seven eight nine ten"
    lines = list(render_table(("name", "text"), [("a", text)], 40))
    assert lines == [
        "name  text",
        "a     one two three four five six seven",
        "      eight nine ten",
    ]


def test_narrow_terminal_shows_a_list() -> None:
    """The first column leads, the others follow below."""
    rows = [("work", "2026-11-23 19:02", "12"), ("home", "2026-11-23 19:03", "")]
    assert list(render_table(("agent", "time", "calls"), rows, 20)) == [
        "agent",
        "work",
        "  time:",
        "  2026-11-23 19:02",
        "  calls: 12",
        "home",
        "  time:",
        "  2026-11-23 19:03",
    ]


def test_numbers_stand_at_the_right_and_wide_characters_count_twice() -> None:
    """So that columns stand below each other."""
    rows = [("日本", "1,000"), ("a", "7")]
    assert list(render_table(("name", "sum"), rows, 80)) == [
        "name    sum",
        "日本  1,000",
        "a         7",
    ]


def test_word_that_is_wider_than_the_terminal_is_cut() -> None:
    """Rather than lost."""
    assert fold_text("abcdefgh ij", 3) == ["abc", "def", "gh", "ij"]
    assert fold_text("2026-11-23 19:02 x", 16) == ["2026-11-23 19:02", "x"]
