"""Reasoning and calls in a model's text, and tags that are prose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinker.toolcalls.markup import VisibleAnswer, remove_markup, split_answer

PROSE = """The tag <think> opens it. Between them the model reasons. </think> closes it. All.

Write <tool_call> first and end with </tool_call> after the JSON.
In `<function=x>{}</function>` and "<invoke name='x'>" [TOOL_CALLS] means nothing; </s> ends it.

```
<think>
x</think>
<tool_call>{"name":"x","arguments":{}}</tool_call>
```

    <|channel|>analysis<|message|>x<|end|>

The token <|im_end|> ends a turn, and [links](http://x.test) and a < b stay."""


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("<think>hm\n\nhm</think>\n\nYes.", "Yes."),
        ("<thinking>```\ncode\n```</thinking>Yes.", "Yes."),
        ("a\n\n<think>b</think>\n\nc", "a\n\n<think>b</think>\n\nc"),
        (
            "It is:\n<tool_call>\nyour JSON\n</tool_call>\n.",
            "It is:\n<tool_call>\nyour JSON\n</tool_call>\n.",
        ),
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


def test_tags_in_prose_and_code_lose_no_word() -> None:
    """However an answer about tags streams."""
    assert remove_markup(PROSE) == PROSE
    assert remove_markup("Write [THINK] and close [/THINK] it.\nDone.").endswith("Done.")


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("We think.\n</think>\n\nYes.", "Yes."),
        ("We think.</think>Yes.", "Yes."),
        ("Close it with </think> at the end.", "Close it with </think> at the end."),
        ("[THINK]hm[/THINK]Yes.", "Yes."),
        ("<think>\nnever closed", ""),
        ("<think></think><think>hm</think>Yes.", "Yes."),
        ("<|channel>thought\nhm<channel|>Yes.", "Yes."),
        ("<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Yes.<|END_RESPONSE|>", "Yes."),
        ("hm<|END_THINKING|>Yes.", "Yes."),
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
            "Yes.",
        ),
        ("analysisWe think.assistantfinalYes.", "Yes."),
        ("analysis of the text", "analysis of the text"),
        ("Yes.<|im_end|>\n", "Yes."),
        ("Yes.</s> [/INST]", "Yes."),
        ("Yes.<|im_end|><|endoftext|>", "Yes."),
        ('Yes.\n<tool_call>\n{"name": "t", "argum', "Yes."),
        ("</tool_call>", ""),
        (
            "<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>response<|sep|>Yes.<|close|>response<|sep|>",
            "Yes.",
        ),
    ],
)
def test_marks_of_every_family_go(text: str, cleaned: str) -> None:
    """Reasoning, frames, ends of turns, halves of calls."""
    assert remove_markup(text) == cleaned
    assert remove_markup(cleaned) == cleaned


def test_reasoning_cut_at_a_limit_is_hidden() -> None:
    """Without a limit it may be a sentence about the tag."""
    assert remove_markup("<think>SECRET", cut=True) == ""
    assert remove_markup("<think>SECRET</think>Yes", cut=True) == "Yes"
    assert remove_markup("<think> is a tag") == "<think> is a tag"


def stream(text: str, size: int) -> list[str]:
    """Return what people see while an answer streams in pieces."""
    shown: list[str] = []
    answer = VisibleAnswer(shown.append)
    for end in range(size, len(text) + size, size):
        answer.follow(text[:end])
    return shown


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("hidden", "said"),
    [
        ("<think>SECRET</think>", "Yes, it is."),
        ("SECRET", "Yes, it is."),
        (
            "<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant<|channel|>final<|message|>",
            "Yes, it is.",
        ),
        ("analysisSECRETassistantfinal", "Yes, it is."),
    ],
)
def test_reasoning_is_never_shown(size: int, hidden: str, said: str) -> None:
    """But for reasoning without an opening tag, which only its end gives away."""
    text = hidden + ("\n</think>\n\n" if hidden == "SECRET" else "") + said
    shown = stream(text, size)
    assert said.startswith(shown[-1])
    assert hidden == "SECRET" or not [one for one in shown if not said.startswith(one)]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    "block",
    [
        '<tool_call>{"name":"t","arguments":{}}</tool_call>',
        "[TOOL_CALLS]t[ARGS]{}",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.t:0<|tool_call_argument_begin|>{}",
        '<function_calls>\n<invoke name="t">\n</invoke>\n</function_calls>',
        "<|python_tag|>t.call()",
        "<start_function_call>call:t{}<end_function_call>",
    ],
)
def test_calls_are_never_shown(size: int, block: str) -> None:
    """Nor half a mark at the end of a piece."""
    assert {one.strip() for one in stream(f"One moment. {block}", size)[-1:]} <= {"One moment."}
    assert all("One moment.".startswith(one.strip()) for one in stream(f"One moment.{block}", size))
    assert not stream(block, size)


@pytest.mark.parametrize("text", ['{"name": "t", "parameters": {}}', '[t(a="x")]'])
def test_calls_without_marks_are_not_shown_before_their_end(text: str) -> None:
    """They may be the whole answer."""
    assert not stream(text, 1)


def test_prose_about_tags_is_shown_while_it_streams() -> None:
    """At the latest when the next words have come."""
    assert stream(PROSE + "." * 300, 5)[-1].startswith(PROSE[:-40])


def test_another_try_begins_anew() -> None:
    """A failed attempt leaves nothing behind."""
    shown: list[str] = []
    answer = VisibleAnswer(shown.append)
    for text in ("<think>a", "<think>a</think>Hello", "Hi", "Hi there"):
        answer.follow(text)
    assert shown == ["Hello", "Hi", "Hi there"]


@given(st.text(alphabet='<>/think[TOL_CAS]|s `\n{}"a'), st.integers(1, 9))
def test_no_text_breaks_the_stream(text: str, size: int) -> None:
    """What is shown was said."""
    for one in stream(text, size):
        assert set(one) <= set(text)
    parts = split_answer(text)
    assert len(parts.text) <= len(text)
