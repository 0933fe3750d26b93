"""What models write between the marks of their templates, and what they say about them."""

from typing import Any, TypeAlias

from fuzzing.target import CUTS, Target, pieces, repeated
from hypothesis import strategies as st

from thinker.toolcalls.dialects import read_calls
from thinker.toolcalls.markup import VisibleAnswer, remove_markup, split_answer

WORDS = ("word ", ". ", "\n", "\n\n", "`", "```", "> ", "    ", '"', "analysis", "assistantfinal")
TAGS = (
    *("<tool_call>", "</tool_call>", "<function=add>", "<parameter=a>", "</function>", "<think>"),
    *("</think>", "[TOOL_CALLS]", "[ARGS]", '<invoke name="add">', "</invoke>", "<arg_key>"),
    *("<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|call|>"),
    *("<|channel|>", "<|message|>", "to=functions.add", "<|start|>", "<|end|>", "[THINK]"),
    *("<|tool_call>call:add{", "}<tool_call|>", '<|"|>', "<|python_tag|>", "add(a=1)", "</s>"),
    *('{"name":"add","arguments":{}}', '{"a":1}', "<k>v</k>", "]<]minimax[>["),
)
ANSWERS = st.lists(st.sampled_from((*WORDS, *TAGS)) | st.text(max_size=4), max_size=30).map("".join)
Streamed: TypeAlias = tuple[str, list[int]]


def check_marks(given: Streamed) -> None:
    """Any text is split, its blocks are read, and what streams of it was said."""
    answer, cuts = given
    parts = split_answer(answer)
    for block in (*parts.calls, *parts.thoughts):
        for call in read_calls(block):
            assert call.name
    remove_markup(answer, cut=True)
    for chunks in (pieces(answer, cuts), list(answer)):
        _follow(chunks, answer)


def _follow(chunks: list[str], answer: str) -> None:
    shown: list[str] = []
    visible, text = VisibleAnswer(shown.append), ""
    for chunk in chunks:
        text += chunk
        visible.follow(text)
    assert all(set(one) <= set(answer) for one in shown)


def _sized(unit: str, size: int) -> Any:
    answer = repeated(unit or "x", size)

    def work() -> None:
        for block in split_answer(answer).calls:
            read_calls(block)
        visible = VisibleAnswer(lambda _: None)
        # Each piece comes with all before it, so their number stays the same.
        for end in range(0, len(answer), len(answer) // 20 + 1):
            visible.follow(answer[:end])

    return work


TARGETS = {
    "marks": Target(
        st.tuples(ANSWERS, CUTS), check_marks, ANSWERS.filter(lambda text: len(text) < 200), _sized
    )
}
