"""Texts for people to edit show all that is in them."""

import json

from pydantic import JsonValue

from orchestrator.editable import format_json_text


def test_characters_that_cannot_be_seen_are_escaped_and_kept() -> None:
    """Letters of any language stay as they are."""
    value: JsonValue = {"name": "żółw\u202e \U000e0001", "lines": ["a\nb"]}
    text = format_json_text(value)
    assert "żółw\\u202e \\udb40\\udc01" in text
    assert json.loads(text) == value
    assert text.endswith("}\n")
