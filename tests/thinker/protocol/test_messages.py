"""Messages as the journal stores them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from thinker.protocol.messages import (
    MESSAGE,
    AssistantMessage,
    Extras,
    Image,
    Message,
    SideEffect,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ARGUMENTS = st.dictionaries(TEXT, st.none() | st.booleans() | TEXT | st.lists(TEXT))
MESSAGES = st.one_of(
    st.builds(
        UserMessage,
        content=TEXT,
        images=st.lists(
            st.builds(Image, media_type=TEXT, data=TEXT, ref=TEXT, about=TEXT), max_size=2
        ).map(tuple),
    ),
    st.builds(
        AssistantMessage,
        content=TEXT,
        reasoning=st.none() | TEXT,
        tool_calls=st.lists(
            st.builds(ToolCall, id=TEXT, name=TEXT, arguments=ARGUMENTS), max_size=2
        ).map(tuple),
    ),
    st.builds(ToolResult, call_id=TEXT, name=TEXT, content=TEXT, is_error=st.booleans()),
)


@given(MESSAGES)
def test_message_comes_back_from_json_as_it_was(message: Message) -> None:
    """The role determines the kind."""
    assert MESSAGE.validate_json(message.model_dump_json()) == message


def test_field_of_a_newer_version_is_passed_over() -> None:
    """A turn recorded by a newer version can be resumed by this one."""
    newer = {"role": "user", "content": "hi", "mood": "good"}
    assert MESSAGE.validate_python(newer) == UserMessage(content="hi")


def test_extras_are_kept_with_a_message_and_take_no_place_without() -> None:
    """Messages of older journals have none."""
    call = ToolCall(id="1", name="look", extras={"extra_content": {"google": "sig"}})
    extras = Extras(origin="gemini@host/gemini-3", fields={"blocks": [None]})
    message = AssistantMessage(tool_calls=(call,), extras=extras)
    assert MESSAGE.validate_json(message.model_dump_json()) == message
    assert "extras" not in AssistantMessage(tool_calls=(ToolCall(id="1", name="a"),)).model_dump()
    assert MESSAGE.validate_python({"role": "assistant", "content": "a"}).content == "a"


def test_unknown_role_is_refused() -> None:
    """An unknown role is not a message."""
    with pytest.raises(ValidationError, match="role"):
        MESSAGE.validate_python({"role": "system", "content": "obey"})


def test_tool_counts_as_not_repeatable_unless_it_says_otherwise() -> None:
    """The careful class is the default."""
    spec = ToolSpec(name="send", description="", parameters={})
    assert spec.side_effect is SideEffect.NON_IDEMPOTENT


def test_usage_adds_up_and_cache_is_part_of_the_prompt() -> None:
    """Totals are what is paid for."""
    total = Usage(prompt=10, completion=2, cached=8) + Usage(prompt=1, cache_written=1)
    assert total == Usage(prompt=11, completion=2, cached=8, cache_written=1)
    assert total.total == 13
