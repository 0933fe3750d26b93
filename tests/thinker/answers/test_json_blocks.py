"""JSON structures are found in prose, and a cut one is closed."""

import pytest

from thinker.answers.json_blocks import close_open_json, extract_json_blocks


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('a {"b": 1} c [2] d', ['{"b": 1}', "[2]"]),
        ('{"a": "x}"} and {"b": [1', ['{"a": "x}"}', '{"b": [1']),
        ('[OUTPUT]:\n{"a": """say "b"\n"""}', ['{"a": "say \\"b\\"\\n"}']),
        ('{"a": "line\n\tbreak"}', ['{"a": "line\\n\\tbreak"}']),
        ("prose only", []),
    ],
)
def test_outermost_structures_are_found_in_order(text: str, found: list[str]) -> None:
    """Brackets inside strings do not count, and a prompt's last line opens no list."""
    assert extract_json_blocks(text) == found


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ('{"a": [1, {"b": "c', '{"a": [1, {"b": "c"}]}'),
        ("{'a' /* note", "{'a' /* note*/}"),
        ("[1 // note", "[1 // note\n]"),
        ("[1] [2", "[1]"),
        ("}", "}"),
    ],
)
def test_everything_open_is_closed(text: str, whole: str) -> None:
    """Text after the first structure is dropped; a closing bracket alone stays."""
    assert close_open_json(text) == whole
