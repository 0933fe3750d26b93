"""Tool calls and markup in a model's text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinker.toolcalls.leaked import LeakedCall, find_leaked_call, remove_markup

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


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("<think>hm\n\nhm</think>\n\nYes.", "Yes."),
        ("<thinking>```\ncode\n```</thinking>Yes.", "Yes."),
        ("a\n\n<think>b</think>\n\nc", "a\n\nc"),
        ("[docs](https://x.y) and [1]", "[docs](https://x.y) and [1]"),
        ("Use `<think>` and `</think>`.", "Use `<think>` and `</think>`."),
        ("```\n<think>x</think>\n\n\n\ny\n```", "```\n<think>x</think>\n\n\n\ny\n```"),
        ("<think>never closed", "<think>never closed"),
        ("<tool_call>{}</tool_call> done", "done"),
        ('<tool_call key="k1">{}</tool_call> done', "done"),
        ("<function=t>{}</function> <function=", "<function="),
        ("```\n<think>x</think>", "```\n<think>x</think>"),
        ("if a <function and b", "if a <function and b"),
    ],
)
def test_markup_goes_and_code_and_links_stay(text: str, cleaned: str) -> None:
    """Code is what the model wants to show."""
    assert remove_markup(text) == cleaned


@given(st.text(alphabet="<>/think `\n[]()a"))
def test_cleaning_never_invents_text(text: str) -> None:
    """Every remaining word was there."""
    assert len(remove_markup(text)) <= len(text)


def test_markup_is_known_in_any_case_and_half_written() -> None:
    """Llama omits the bracket after the name; some models use capitals."""
    assert remove_markup("<THINK>hm</Think>Hi") == "Hi"
    assert remove_markup('<function=search{"q": 1}</function> ok') == "ok"
    assert remove_markup("a <function_call> b </function> c") == "a <function_call> b </function> c"
