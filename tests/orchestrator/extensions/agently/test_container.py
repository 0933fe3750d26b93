"""Slots are collected, merged by their policies, and inherited."""

import pytest
from pydantic import ValidationError

from orchestrator.extensions.agently.container import Slots


def test_indentation_is_removed_before_surrounding_space() -> None:
    """Agently strips first, so the second line keeps its indentation."""
    text = "\n    first\n      second\n    "
    assert Slots({"input": text}).values() == {"input": "first\n  second"}
    assert Slots({"input": text}, compat="4.0.7").values() == {"input": "first\n      second"}


def test_conversation_of_the_parent_comes_first() -> None:
    """Messages stay in chronological order; Agently appends the parent's without duplicates."""
    parent = Slots({"chat_history": [{"role": "user", "content": "1"}]})
    said = [{"role": "assistant", "content": "2"}, {"role": "user", "content": "1"}]
    expected = [{"role": "user", "content": "1"}, *said]
    assert Slots({"chat_history": said}, parent=parent).values()["chat_history"] == expected
    upstream = Slots({"chat_history": said}, parent=parent, compat="4.0.7")
    assert upstream.values()["chat_history"] == said


def test_input_is_replaced_while_info_is_merged() -> None:
    """The slot decides the policy, not the value."""
    slots = Slots({"input": {"a": 1}, "info": {"a": 1}})
    slots.set("input", {"b": 2}).set("info", {"b": 2})
    assert slots.values() == {"input": {"b": 2}, "info": {"a": 1, "b": 2}}


def test_explicit_none_hides_the_value_of_the_parent() -> None:
    """A child can remove the system prompt."""
    child = Slots({"system": None}, parent=Slots({"system": "P", "instruct": "I"}))
    assert child.build_prompt().system is None
    assert child.build_prompt().instruct == "I"


def test_child_does_not_change_its_parent() -> None:
    """Inherited values are deep copies."""
    parent = Slots({"info": {"a": ["x"]}})
    child = Slots(parent=parent)
    child.append("info.a", "y")
    view = child.values()
    view["info"] = None
    assert parent.values() == {"info": {"a": ["x"]}}
    assert child.values() == {"info": {"a": ["y", "x"]}}


def test_path_through_text_is_refused() -> None:
    """The error names the path and the value in its way."""
    slots = Slots({"info": {"a": "text"}})
    with pytest.raises(TypeError, match=r"'info\.a\.b' because 'info\.a' is not a dictionary"):
        slots.set("info.a.b", 1)


def test_deleting_a_missing_path_is_no_error() -> None:
    """Deleting is idempotent."""
    slots = Slots({"info": {"a": "text"}})
    slots.delete("info.a.b").delete("nothing.there").delete("info.z")
    assert slots.values() == {"info": {"a": "text"}}


def test_append_keeps_duplicates_in_lists_but_not_in_sets() -> None:
    """The container stays a list or a set."""
    slots = Slots({"info": {"tags": {"a"}}})
    slots.append("examples", "e").append("examples", "e").append("info.tags", "b")
    assert slots.values() == {"examples": ["e", "e"], "info": {"tags": {"a", "b"}}}


def test_placeholders_are_replaced_in_keys_and_values() -> None:
    """Replaced text is not searched again."""
    slots = Slots().update({"info": {"${k}": "${v}"}}, {"k": "name", "v": "${k}"})
    assert slots.values() == {"info": {"name": "${k}"}}


@pytest.mark.parametrize("text", ["${" + " " * 50_000, "${ " * 50_000, "${" * 50_000])
def test_placeholder_that_never_ends_is_text(text: str) -> None:
    """However long; its name is looked for in a few characters only."""
    assert Slots().update({"info": text}, {"": "x"}).values() == {"info": text.strip()}


def test_tool_without_a_name_is_refused() -> None:
    """The error names the tool and the field."""
    with pytest.raises(ValidationError) as caught:
        Slots({"tools": [{"desc": "d", "kwargs": {}}]}).build_prompt()
    assert caught.value.errors()[0]["loc"] == ("tools", 0, "name")
