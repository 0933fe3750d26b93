"""Tool calls in a model's text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinker.toolcalls.leaked import LeakedCall, find_leaked_call

CALL = '{"name": "t", "parameters": {"a": "}{"}}'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (CALL, LeakedCall("t", {"a": "}{"})),
        (f"\n  {CALL}\n", LeakedCall("t", {"a": "}{"})),
        ('{"parameters": {}, "name": "t"}', LeakedCall("t", {})),
        ('{"name": "t", "parameters": {"a": "x\ny"}}', LeakedCall("t", {"a": "x\ny"})),
        (f"Sure. {CALL}", None),
        (f"{CALL} Done.", None),
        (f"{CALL} {CALL}", None),
        (f"> {CALL}", None),
        (f"[{CALL}]", None),
        (f"`{CALL}`", None),
        (f"```json\n{CALL}\n```", None),
        (f"Write it so:\n```json\n{CALL}\n```", None),
        (f"<think>Hm.</think>{CALL}", None),
        ('{"name": "t", "parameters": {}, "description": "a tool"}', None),
        ('{"name": "t", "parameters": []}', None),
        ('{"name": 5, "parameters": {}}', None),
        ('{"name": "T", "parameters": {}}', None),
        ('{"name": "t", "parameters": {"a": NaN}}', None),
        ('{"name": "t", "parameters": {"a": "\\ud800"}}', None),
        ('{"name": "t", "parameters": {"a": ' + "9" * 5000 + "}}", None),
        ('{"name": "t", "parameters": ', None),
        ('{"name": "t", "parameters": {"a": ' + "[" * 64 + "]" * 64 + "}}", None),
    ],
)
def test_call_is_found_only_where_it_is_the_whole_answer(
    text: str, found: LeakedCall | None
) -> None:
    """Exactly name and parameters, of an offered tool; beside other words it is quoted."""
    assert find_leaked_call(text, {"t"}) == found


def test_deep_or_endless_braces_find_nothing() -> None:
    """Braces alone neither raise nor take long."""
    assert find_leaked_call('{"a":' * 50_000, {"t"}) is None
    assert find_leaked_call("{" * 50_000, {"t"}) is None


@given(st.text(), st.text())
def test_call_is_not_found_among_other_words(before: str, after: str) -> None:
    """Whatever the words are."""
    bare = not (before + after).strip(" \t\r\n")
    found = find_leaked_call(f"{before}{CALL}{after}", {"t"})
    assert found == (LeakedCall("t", {"a": "}{"}) if bare else None)
