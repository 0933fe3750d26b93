"""What is left of a request that does not fit, and what is said about the rest."""

import pytest
from fakes.scripted import call, spec

from thinker.models.base import ModelRequest
from thinker.models.shortening import cut_middle, measure_request, shorten_request
from thinker.protocol.messages import (
    AssistantMessage,
    AttachedFile,
    Image,
    JsonObject,
    LayerRecord,
    Message,
    ToolChoice,
    ToolResult,
    UserMessage,
)

BOOK = "word " * 10_000


def talk(*pairs: tuple[str, str]) -> tuple[Message, ...]:
    """Questions and answers in turn."""
    return tuple(
        message
        for question, answer in pairs
        for message in (UserMessage(content=question), AssistantMessage(content=answer))
    )


def request(*messages: Message, system: str = "Be brief.") -> ModelRequest:
    """A request without tools."""
    return ModelRequest(system=system, messages=messages)


def test_a_request_that_fits_is_the_same() -> None:
    """Most requests do."""
    asked = request(*talk(("a", "b")), UserMessage(content="c"))
    shorter = shorten_request(asked, 1000)
    assert shorter.request is asked
    assert not shorter.degraded


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    """The question often stands at one of them."""
    asked = request(UserMessage(content=f"Read this: {BOOK}What is it about?"))
    shorter = shorten_request(asked, 4000)
    text = shorter.request.messages[0].content
    assert text.startswith("Read this: ")
    assert text.endswith("What is it about?")
    assert "characters are left out here" in text
    assert shorter.fits
    assert [(one.kind, "cut from" in one.what) for one in shorter.degraded] == [("message", True)]


def test_an_old_long_message_gives_way_to_a_new_question() -> None:
    """What was refused once does not stand in the way of the next message."""
    asked = request(*talk((BOOK, "This does not fit.")), UserMessage(content="Say yes."))
    shorter = shorten_request(asked, 4000)
    assert shorter.request.messages[-1] == UserMessage(content="Say yes.")
    assert shorter.fits
    assert [one.kind for one in shorter.degraded] == ["history"]


def test_the_oldest_turns_go_first_and_whole() -> None:
    """The model is told that there was more."""
    pairs = [(f"question {number} " + "x" * 400, "answer") for number in range(20)]
    shorter = shorten_request(request(*talk(*pairs), UserMessage(content="last")), 3000)
    first, *_, newest = shorter.request.messages
    assert isinstance(first, UserMessage)
    assert first.content.startswith("[Earlier messages of this conversation are left out")
    assert "question 0 " not in str(shorter.request.messages)
    assert "question 19 " in str(shorter.request.messages)
    assert newest.content == "last"
    assert shorter.fits


def test_results_of_the_running_turn_are_cut_and_stay_with_their_calls() -> None:
    """All to the same size; what is short stays whole."""
    made = AssistantMessage(tool_calls=(call("a", "read"), call("b", "read")))
    results = (
        ToolResult(call_id="a", name="read", content=BOOK),
        ToolResult(call_id="b", name="read", content="short"),
    )
    asked = request(UserMessage(content="Compare the files."), made, *results)
    shorter = shorten_request(asked, 4000)
    sent = shorter.request.messages
    assert [message.role for message in sent] == ["user", "assistant", "tool", "tool"]
    assert sent[3].content == "short"
    assert len(sent[2].content) < 4000
    assert shorter.fits
    assert "results of tools" in shorter.degraded[0].what


def test_tools_that_take_most_of_the_room_are_left_out_by_name() -> None:
    """Those that are always there, called already or demanded stay longest."""
    schema: JsonObject = {"type": "object", "properties": {"x" * 300: {"type": "string"}}}
    bare = (spec(f"tool_{number:02}") for number in range(20))
    tools = tuple(tool.model_copy(update={"parameters": schema}) for tool in bare)
    asked = ModelRequest(
        system="Be brief.",
        messages=(UserMessage(content="Hello?"),),
        tools=tools,
        tool_choice=ToolChoice(mode="function", name="tool_19"),
    )
    shorter = shorten_request(asked, 4000)
    assert shorter.fits
    assert "tool_19" in {tool.name for tool in shorter.request.tools}
    assert 0 < len(shorter.request.tools) < 20
    (left,) = shorter.degraded
    assert left.kind == "tools"
    assert "of 20 left out" in left.what
    assert "tool_18" in left.what


def test_optional_parts_of_the_prompt_go_before_the_conversation() -> None:
    """In the system prompt or in a message, whichever has them."""
    book = "## Playbook\n" + "steps " * 1000
    said = UserMessage(content="Hello?", context=(LayerRecord(name="playbooks", text=book),))
    asked = ModelRequest(system=f"Be brief.\n\n{book}", messages=(said,), spare=(book,))
    shorter = shorten_request(asked, 3000)
    assert shorter.request.system == "Be brief."
    assert shorter.request.messages == (UserMessage(content="Hello?"),)
    assert shorter.fits


def test_pictures_and_files_of_old_messages_go_too() -> None:
    """They count, so they are cut."""
    seen = UserMessage(
        content="look",
        images=(Image(media_type="image/png", data="aGk=", about="a cat"),),
        documents=(AttachedFile(about="notes.txt", content=BOOK),),
    )
    asked = request(seen, AssistantMessage(content="Nice."), UserMessage(content="Why?"))
    shorter = shorten_request(asked, 6000)
    assert shorter.fits
    assert not any(getattr(message, "images", ()) for message in shorter.request.messages)
    assert shorter.request.messages[-1].content == "Why?"


def test_a_prompt_that_alone_is_too_long_is_said_not_to_fit() -> None:
    """Nothing of it may be cut."""
    shorter = shorten_request(request(UserMessage(content="Hello?"), system=BOOK), 4000)
    assert not shorter.fits
    assert shorter.request.system == BOOK


@pytest.mark.parametrize("size", [0, 10, 100, 1000])
def test_cut_text_is_never_longer_than_asked_by_more_than_its_note(size: int) -> None:
    """Even where there is hardly any room."""
    assert len(cut_middle(BOOK, size)) <= size + 100


def test_measuring_counts_what_a_model_reads() -> None:
    """Each part by itself."""
    asked = request(*talk(("a" * 100, "b" * 50)), UserMessage(content="c" * 30), system="s" * 20)
    assert measure_request(asked) == (20, 0, 230, 70)
