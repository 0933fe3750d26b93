"""How chats and turns are written."""

import pytest

from thinker.protocol.names import ChatName, format_chat_name, format_turn_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("telegram:555", "telegram:555"),
        ("telegram 555", "telegram:555"),
        ("telegram:-100123/7", "telegram:-100123/7"),
        ("telegram/42/-100123/7", "telegram:-100123/7"),
        ("telegram/42/555/", "telegram:555"),
        ("console:a/b", "console:a/b"),
        ("console/local/a/b/", "console:a/b"),
        ("console:a:b c", "console:a:b c"),
    ],
)
def test_every_form_of_a_chat_means_the_same_chat(text: str, name: str) -> None:
    """The older forms stay; what is shown can be typed back."""
    assert str(ChatName.parse(text)) == name
    assert str(ChatName.parse(name)) == name


@pytest.mark.parametrize("text", ["555", "", "telegram:", ":5", "telegram: "])
def test_other_texts_are_refused_with_an_example(text: str) -> None:
    """So that one knows what to write."""
    with pytest.raises(ValueError, match="such as telegram:123"):
        ChatName.parse(text)


def test_key_of_the_journal_is_shown_as_a_chat_and_other_queues_as_they_are() -> None:
    """Tasks, subagents and API conversations have queues of their own."""
    assert format_chat_name("telegram/42/555/") == "telegram:555"
    assert format_chat_name("telegram/42/-100/7") == "telegram:-100/7"
    for queue in ("x", "task/home/7", "subagent/home-sub-1", "api/home/talk", "api/home/talk/ann"):
        assert format_chat_name(queue) == queue


def test_turn_is_shown_by_its_end() -> None:
    """The beginning is the time, which turns of one day share."""
    assert format_turn_name("019a" * 4 + "0123456789abcdef") == "89abcdef"
