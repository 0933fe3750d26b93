"""Slots are collected, merged as declared, and inherited."""

import pytest
from pydantic import ValidationError

from thinker.prompt.render.container import Slots


def test_text_loses_its_indentation_before_the_space_around_it() -> None:
    """Upstream strips first, so the second line keeps its indentation."""
    text = "\n    first\n      second\n    "
    assert Slots({"input": text}).values() == {"input": "first\n  second"}
    assert Slots({"input": text}, compat="4.0.7").values() == {"input": "first\n      second"}


def test_a_parents_conversation_comes_first() -> None:
    """What was said earlier stands earlier; upstream puts it behind, without its repeats."""
    parent = Slots({"chat_history": [{"role": "user", "content": "1"}]})
    said = [{"role": "assistant", "content": "2"}, {"role": "user", "content": "1"}]
    expected = [{"role": "user", "content": "1"}, *said]
    assert Slots({"chat_history": said}, parent=parent).values()["chat_history"] == expected
    upstream = Slots({"chat_history": said}, parent=parent, compat="4.0.7")
    assert upstream.values()["chat_history"] == said


def test_an_input_is_replaced_while_info_is_merged() -> None:
    """The policy is the slot's, not the value's."""
    slots = Slots({"input": {"a": 1}, "info": {"a": 1}})
    slots.set("input", {"b": 2}).set("info", {"b": 2})
    assert slots.values() == {"input": {"b": 2}, "info": {"a": 1, "b": 2}}


def test_an_explicit_none_hides_a_parents_value() -> None:
    """A child says that it has no system prompt."""
    child = Slots({"system": None}, parent=Slots({"system": "P", "instruct": "I"}))
    assert child.prompt().system is None
    assert child.prompt().instruct == "I"


def test_what_a_child_sets_leaves_its_parent_alone() -> None:
    """Views are copies, all the way down."""
    parent = Slots({"info": {"a": ["x"]}})
    child = Slots(parent=parent)
    child.append("info.a", "y")
    view = child.values()
    view["info"] = None
    assert parent.values() == {"info": {"a": ["x"]}}
    assert child.values() == {"info": {"a": ["y", "x"]}}


def test_a_path_through_text_is_refused() -> None:
    """The error names the path and the place."""
    slots = Slots({"info": {"a": "text"}})
    with pytest.raises(TypeError, match=r"'info\.a\.b' because 'info\.a' is not a dictionary"):
        slots.set("info.a.b", 1)


def test_a_path_that_leads_nowhere_is_no_error_to_delete() -> None:
    """Deleting is idempotent."""
    slots = Slots({"info": {"a": "text"}})
    slots.delete("info.a.b").delete("nothing.there").delete("info.z")
    assert slots.values() == {"info": {"a": "text"}}


def test_appended_repeats_are_kept_and_a_set_stays_one() -> None:
    """A list is a sequence of what was said; a set never has repeats."""
    slots = Slots({"info": {"tags": {"a"}}})
    slots.append("examples", "e").append("examples", "e").append("info.tags", "b")
    assert slots.values() == {"examples": ["e", "e"], "info": {"tags": {"a", "b"}}}


def test_placeholders_in_an_update_are_filled_in_keys_and_values() -> None:
    """One pass: what was filled in is not searched."""
    slots = Slots().update({"info": {"${k}": "${v}"}}, {"k": "name", "v": "${k}"})
    assert slots.values() == {"info": {"name": "${k}"}}


def test_a_tool_without_a_name_is_refused() -> None:
    """The model says which tool and which field."""
    with pytest.raises(ValidationError) as caught:
        Slots({"tools": [{"desc": "d", "kwargs": {}}]}).prompt()
    assert caught.value.errors()[0]["loc"] == ("tools", 0, "name")
