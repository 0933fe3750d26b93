"""The prepared history is well formed, whatever comes in."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from thinker.history import (
    LOST,
    prepare_history,
    repair_history,
    select_newest,
    shorten_old_results,
)
from thinker.protocol.messages import (
    AssistantMessage,
    Image,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
)

ids = st.sampled_from(["", "a", "b", "a_2", "call"])
names = st.sampled_from(["t", "u", "x]: truncated"])
contents = st.sampled_from(["", " ", "text", '{"a": 1}', "x" * 50])
calls = st.builds(ToolCall, id=ids, name=names)
messages = st.lists(
    st.builds(UserMessage, content=contents)
    | st.builds(
        AssistantMessage, content=contents, tool_calls=st.lists(calls, max_size=3).map(tuple)
    )
    | st.builds(ToolResult, call_id=ids, name=names, content=contents),
    max_size=14,
)


def user(text: str) -> UserMessage:
    """A user message."""
    return UserMessage(content=text)


def asks(*call_ids: str) -> AssistantMessage:
    """An assistant message with calls of these ids."""
    return AssistantMessage(tool_calls=tuple(ToolCall(id=one, name="t") for one in call_ids))


def result(call_id: str, content: str = "ok") -> ToolResult:
    """A result for the call of this id."""
    return ToolResult(call_id=call_id, name="t", content=content)


def lost(call_id: str) -> ToolResult:
    """Return the placeholder for a missing result."""
    return ToolResult(call_id=call_id, name="t", content=LOST, is_error=True)


def assert_well_formed(history: Sequence[Message]) -> None:
    """Each call has one result, at once and in order; ids are unique; nothing is empty."""
    expected: list[tuple[str, str]] = []
    seen: set[str] = set()
    for message in history:
        if isinstance(message, ToolResult):
            assert expected, "a result without its call"
            assert (message.call_id, message.name) == expected.pop(0)
            continue
        assert not expected, "a call without its result"
        if isinstance(message, UserMessage):
            assert message.content.strip() or message.images
            continue
        assert message.content.strip() or message.tool_calls
        for call in message.tool_calls:
            assert call.id
            assert call.id not in seen
            seen.add(call.id)
            expected.append((call.id, call.name))
    assert not expected, "a call without its result"


@given(messages, st.integers(0, 14), st.integers(0, 3))
def test_any_history_goes_out_well_formed(
    history: list[Message], window: int, keep_exchanges: int
) -> None:
    """The whole preparation, for every window."""
    assert_well_formed(prepare_history(history, window=window, keep_exchanges=keep_exchanges))


@given(messages)
def test_repair_changes_nothing_the_second_time(history: list[Message]) -> None:
    """A repaired history is whole, and a whole one is left alone."""
    once = repair_history(history)
    assert_well_formed(once)
    assert repair_history(once) == once


@given(messages)
def test_repair_loses_no_word_of_user_or_assistant(history: list[Message]) -> None:
    """Texts and calls stay, in their order."""

    def spoken(part: Sequence[Message]) -> list[str]:
        return [m.content for m in part if not isinstance(m, ToolResult) and m.content.strip()]

    assert spoken(repair_history(history)) == spoken(history)


@given(messages, st.integers(0, 3))
def test_shortening_changes_nothing_the_second_time(history: list[Message], keep: int) -> None:
    """A note is not shortened to a note about the note."""
    once = shorten_old_results(history, keep)
    assert shorten_old_results(once, keep) == once
    assert len(once) == len(history)


def test_partly_answered_calls_get_their_missing_result_in_order() -> None:
    """No call stays without a result."""
    history: list[Message] = [user("q"), asks("1", "2", "3"), result("2"), user("next")]
    assert repair_history(history) == (
        user("q"),
        asks("1", "2", "3"),
        lost("1"),
        result("2"),
        lost("3"),
        user("next"),
    )


def test_result_of_a_wrong_id_is_replaced() -> None:
    """The stray result is dropped and the call gets a placeholder."""
    assert repair_history([asks("1"), result("9")]) == (asks("1"), lost("1"))


def test_late_result_is_moved_to_its_call() -> None:
    """Even if a user spoke in between."""
    history: list[Message] = [asks("1"), user("hurry"), result("1")]
    assert repair_history(history) == (asks("1"), result("1"), user("hurry"))


def test_results_in_another_order_follow_the_calls() -> None:
    """Parallel calls end in any order; providers want the calls' order."""
    assert repair_history([asks("1", "2"), result("2"), result("1")]) == (
        asks("1", "2"),
        result("1"),
        result("2"),
    )


def test_id_used_again_becomes_a_new_one_with_its_own_result() -> None:
    """Some servers number calls from zero in each answer; others reject repeated ids."""
    history: list[Message] = [
        asks("call_0"),
        result("call_0", "old"),
        asks("call_0"),
        result("call_0", "new"),
    ]
    assert repair_history(history) == (
        asks("call_0"),
        result("call_0", "old"),
        asks("call_0_2"),
        result("call_0_2", "new"),
    )


def test_empty_messages_are_dropped_and_pictures_kept() -> None:
    """Providers reject a blank message; a picture alone is a message."""
    picture = UserMessage(content="", images=(Image(media_type="image/png", data="AA=="),))
    history: list[Message] = [user(" "), AssistantMessage(content="\n"), picture]
    assert repair_history(history) == (picture,)


def test_window_never_begins_with_a_result_whose_call_was_cut() -> None:
    """The cut may fall between a call and its result."""
    history: list[Message] = [user("q"), asks("1"), result("1"), AssistantMessage(content="done")]
    assert select_newest(history, 2) == (result("1"), AssistantMessage(content="done"))
    assert prepare_history(history, window=2) == (AssistantMessage(content="done"),)
    assert prepare_history(history, window=0) == ()


def test_window_is_the_last_fifty_messages() -> None:
    """The default window."""
    history: list[Message] = [user(str(number)) for number in range(60)]
    assert prepare_history(history) == tuple(history[10:])


def test_only_the_last_two_exchanges_keep_their_results() -> None:
    """An exchange may have several results; talk in between does not count."""
    history: list[Message] = [asks("1"), result("1", '{"a":1}'), user("q")]
    history += [asks("2", "3"), result("2"), result("3"), user("q"), asks("4"), result("4")]
    shortened = prepare_history(history)
    assert shortened[1] == result("1", "[t: truncated, was 7 chars]")
    assert shortened[2:] == tuple(history[2:])
