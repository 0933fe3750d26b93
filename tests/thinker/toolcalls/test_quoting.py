"""What is quoted or code, however the text is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinker.protocol.messages import AssistantMessage, ToolResult, UserMessage
from thinker.toolcalls.quoting import HEAD, Quotation, has_untrusted_text


def quoted(*pieces: str) -> bool:
    """Return whether what follows these pieces is quoted."""
    quotation = Quotation()
    for piece in pieces:
        quotation.advance(piece)
    return quotation.is_quoted


QUOTED = (
    "> ",
    "   >> a",
    "    ",
    "  \t",
    "a `",
    'says "',
    "```\n",
    "````\n```\n",
    "```\n``` no end\n",
    "~~~ xml\n",
)
SAID = (
    "",
    "Sure. ",
    "   ",
    "> a\n",
    "1. ",
    "a `b` ",
    "`a\n",
    '"so" ',
    "```\na\n```\n",
    "     ```\n",
)


@pytest.mark.parametrize("text", QUOTED)
def test_what_markdown_quotes_or_shows_as_code_is_quoted(text: str) -> None:
    """And what follows a quotation mark at once."""
    assert quoted(text)


@pytest.mark.parametrize("text", SAID)
def test_other_text_is_said(text: str) -> None:
    """A quotation ends with its line, its mark or its fence."""
    assert not quoted(text)


@given(st.lists(st.text(alphabet='`~> \n\ta"')))
def test_pieces_make_no_difference(pieces: list[str]) -> None:
    """A streamed answer is judged like a whole one."""
    assert quoted(*pieces) is quoted("".join(pieces))


def test_only_the_beginning_of_a_line_is_kept() -> None:
    """A long line costs no more than it is long."""
    quotation = Quotation()
    for _ in range(10 * HEAD):
        quotation.advance("> ")
    assert quotation.is_quoted
    assert len(quotation._line) == HEAD


def test_what_others_wrote_is_untrusted() -> None:
    """The people of the chat and the model itself are trusted."""
    said = (UserMessage(content="a"), AssistantMessage(content="b"))
    assert not has_untrusted_text(said)
    assert has_untrusted_text(
        (*said, ToolResult(call_id="c", name="d", content="e", origin="tool"))
    )
