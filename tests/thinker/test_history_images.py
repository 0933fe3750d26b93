"""Pictures of a conversation: shown while recent, described afterwards."""

from hypothesis import given
from hypothesis import strategies as st

from thinker.history import describe_images, describe_old_images, prepare_history
from thinker.protocol.messages import (
    AssistantMessage,
    Image,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
)

SHOWN = Image(media_type="image/png", data="QUJD", ref="r", about="photo, 2x3")
FADED = Image(media_type="image/png", ref="r", about="photo, 2x3")
images = st.lists(st.sampled_from([SHOWN, FADED]), max_size=2).map(tuple)
contents = st.sampled_from(["", "look"])
messages = st.lists(
    st.builds(UserMessage, content=contents, images=images)
    | st.builds(AssistantMessage, content=st.just("yes"))
    | st.builds(
        ToolResult, call_id=st.just("c"), name=st.just("t"), content=contents, images=images
    ),
    max_size=8,
)


def pictures(message: Message) -> tuple[Image, ...]:
    """The pictures of a message."""
    return () if isinstance(message, AssistantMessage) else message.images


@given(messages, st.integers(0, 9))
def test_every_picture_is_shown_or_described(messages: list[Message], recent: int) -> None:
    """Only those with data in the newest messages are shown; nothing else changes."""
    faded = describe_old_images(messages, recent)
    assert len(faded) == len(messages)
    for age, (before, after) in enumerate(zip(reversed(messages), reversed(faded), strict=True)):
        expected = [i for i in pictures(before) if i.data and age < recent]
        assert list(pictures(after)) == expected
        notes = after.content.count("[image: photo, 2x3]")
        assert notes == len(pictures(before)) - len(expected)
        assert after.content.startswith(before.content)


@given(messages, st.integers(0, 9))
def test_fading_again_changes_nothing(messages: list[Message], recent: int) -> None:
    """A turn that is resumed sees the same."""
    assert describe_old_images(
        describe_old_images(messages, recent), recent
    ) == describe_old_images(messages, recent)


def test_message_that_is_only_a_picture_is_not_empty_when_it_is_described() -> None:
    """Providers refuse empty messages."""
    assert describe_images(UserMessage(content="", images=(SHOWN,))) == UserMessage(
        content="[image: photo, 2x3]"
    )
    unnamed = UserMessage(content="a", images=(Image(media_type="image/gif"),))
    assert describe_images(unnamed).content == "a\n[image: image/gif]"


def test_pictures_of_shortened_results_go_with_their_text() -> None:
    """A result replaced by a note has no picture."""
    messages: list[Message] = []
    for name in ("a", "b", "c"):
        messages.append(AssistantMessage(tool_calls=(ToolCall(id=name, name="t"),)))
        messages.append(ToolResult(call_id=name, name="t", content="here", images=(SHOWN,)))
    shown = prepare_history(messages)
    assert [len(pictures(message)) for message in shown] == [0, 0, 0, 1, 0, 1]
