"""The two layouts of Agently by our own rules; the vectors cover Agently's."""

import pytest

from orchestrator.extensions.agently.blocks import ROLES, EmptyPromptError, LayoutStyle
from orchestrator.extensions.agently.container import Slots
from orchestrator.extensions.agently.message_layout import render_agently_messages
from orchestrator.extensions.agently.text_layout import render_agently_text
from thinker.prompt.render.sections import Section
from thinker.prompt.render.slot_sections import lower_slot_prompt
from thinker.protocol.messages import JsonObject


def sections(**slots: object) -> tuple[Section, ...]:
    """Return the sections of these slots."""
    return lower_slot_prompt(Slots(slots).build_prompt(), "test")


def test_examples_are_shown_beside_an_input_alone() -> None:
    """Agently sends the bare input without them."""
    asked = sections(input="x", examples=["a"])
    shown = ({"role": "user", "content": "[EXAMPLES]:\n- a\n\n\n[INPUT]:\nx\n\n[OUTPUT]:"},)
    assert render_agently_messages(asked).messages == shown
    bare = ({"role": "user", "content": "x"},)
    assert render_agently_messages(asked, LayoutStyle(compat="4.0.7")).messages == bare


def test_structured_input_becomes_text() -> None:
    """Providers refuse a mapping as content."""
    assert render_agently_messages(sections(input={"q": 1})).messages[0]["content"] == "q: 1\n"


def test_role_order_is_strict_with_renamed_roles() -> None:
    """Agently compares its own names and inserts a second first message."""
    history = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    asked = sections(input="x", chat_history=history)
    renamed = {**ROLES, "user": "human", "assistant": "ai"}
    assert _roles(render_agently_messages(asked, LayoutStyle(roles=renamed)).messages) == [
        "human",
        "ai",
        "human",
    ]
    upstream = render_agently_messages(asked, LayoutStyle(roles=renamed, compat="4.0.7")).messages
    assert _roles(upstream) == ["user", "human", "ai", "assistant", "human"]


def test_part_that_cannot_be_shown_gives_a_warning() -> None:
    """Images are left out of text and kept in rich content."""
    picture = {"type": "image_url", "image_url": "u"}
    said = [{"role": "user", "content": [{"type": "text", "text": "look"}, picture]}]
    asked = sections(input="x", chat_history=said, attachment=[picture, "note"])
    assert render_agently_text(asked).warnings == (
        "a part of type 'image_url' cannot be shown in text; left out",
    )
    plain = render_agently_messages(asked)
    assert [message["content"] for message in plain.messages][-2:] == [
        "note",
        "[INPUT]:\nx\n\n[OUTPUT]:",
    ]
    assert len(plain.warnings) == 2
    rich = render_agently_messages(asked, rich_content=True)
    assert rich.warnings == ()
    assert str(rich.messages).count("image_url': 'u'") == 2


def test_attachments_alone_become_the_user_message() -> None:
    """No text is added."""
    asked = sections(attachment=["a", "b"])
    assert [m["content"] for m in render_agently_messages(asked).messages] == ["a", "b"]
    rich = render_agently_messages(asked, rich_content=True).messages
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert rich == ({"role": "user", "content": parts},)


def test_style_sets_the_titles() -> None:
    """Each block and the last line can have another title."""
    style = LayoutStyle(titles={"input": "FRAGE", "output": "FORM"}, output="ANTWORT")
    text = render_agently_text(sections(input="x", output={"a": (str,)}), style).text
    assert "[FRAGE]:\nx" in text
    assert "[FORM]:\nData Format: JSON" in text
    assert text.endswith("[ANTWORT]:\nassistant:")


def test_list_as_output_is_shown_as_a_list() -> None:
    """Agently converts it to a dict, which fails or shows nonsense."""
    asked = sections(input="x", output=[{"a": (str, "d")}])
    shape = '[\n  {\n    "a": <str> // d\n  },\n  ...\n]'
    assert shape in render_agently_text(asked).text
    with pytest.raises(ValueError, match="dictionary update"):
        render_agently_text(asked, LayoutStyle(compat="4.0.7"))


def test_zero_counts_as_set_but_is_not_shown() -> None:
    """A prompt whose only slot is 0 is not empty."""
    assert render_agently_text(sections(input=0)).text == "user:\n[OUTPUT]:\nassistant:"
    for slots in ({"system": "s"}, {"tools": [], "input": ""}, {"chat_history": ["q"]}):
        with pytest.raises(EmptyPromptError, match="at least one of 'input'"):
            render_agently_messages(sections(**slots))


def test_info_of_any_type_becomes_text() -> None:
    """Even a number, which Agently refuses."""
    assert "[INFO]:\n5\n" in render_agently_text(sections(info=5)).text
    assert "[INFO]:\n- a\n- b\n" in render_agently_text(sections(info=("a", "b"))).text


def _roles(messages: tuple[JsonObject, ...]) -> list[object]:
    return [message["role"] for message in messages]
