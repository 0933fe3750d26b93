"""Reasoning and calls in a model's text, and tags that are prose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinker.toolcalls.markup import remove_markup


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
