"""Text that is safe to show."""

import json

import pytest

from orchestrator.cli.output import format_count, make_printable
from orchestrator.cli.tables import print_json


def test_control_characters_are_replaced_and_everything_else_stays() -> None:
    """Joined emoji, no-break spaces, line ends and tabs are text."""
    text = "a\tb\nfamily \N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN} 5\N{NO-BREAK SPACE}kg"
    assert make_printable(text) == text
    assert make_printable("\x1b[2J\r\x9b\udce9") == "\ufffd[2J" + "\ufffd" * 3


def test_count_has_the_right_plural() -> None:
    """None, one, many."""
    assert [format_count(n, "turn") for n in (0, 1, 2)] == ["no turns", "1 turn", "2 turns"]


def test_json_keeps_its_value_and_shows_what_is_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    """A terminal shows JSON, too."""
    print_json({"name": "a\u202e\x9b\U000e0041b\n"})
    printed = capsys.readouterr().out
    assert all(line.isprintable() for line in printed.splitlines())
    assert json.loads(printed) == {"name": "a\u202e\x9b\U000e0041b\n"}
