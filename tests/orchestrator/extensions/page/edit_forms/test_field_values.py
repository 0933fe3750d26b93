"""What people write in the fields of a form, and the changes of the file that follow."""

import pytest
from pydantic import JsonValue

from orchestrator.control.editing import ValueChange
from orchestrator.extensions.page.edit_forms import field_values
from orchestrator.extensions.page.edit_forms.field_values import FieldValueError
from orchestrator.extensions.page.edit_forms.form_fields import FieldKind, FormField


def field(kind: FieldKind, path: str = "value", **more: object) -> FormField:
    """A field of a kind."""
    return FormField(**{"path": tuple(path.split(".")), "label": path, "kind": kind, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("line", "groq", "groq"),
        ("text", "First.\nSecond.", "First.\nSecond."),
        ("number", 0.5, "0.5"),
        ("switch", False, "no"),
        ("words", ["a", "b c"], "a\nb c"),
        ("pairs", {"KEY": "a=b"}, "KEY=a=b"),
        ("json", {"a": [1]}, '{\n  "a": [\n    1\n  ]\n}'),
    ],
)
def test_values_are_shown_as_they_are_read(kind: FieldKind, value: JsonValue, text: str) -> None:
    """What was not touched is not changed, also with the line ends of browsers."""
    one = field(kind)
    assert field_values.format_value(one, value) == text
    assert field_values.parse_value(one, text.replace("\n", "\r\n"), value) == value
    changed, problems = field_values.read_form([one], {one.name: text}, {"value": value})
    assert (changed, problems) == ({}, {})


@pytest.mark.parametrize(
    ("kind", "text", "advice"),
    [
        ("number", "many", "write a number"),
        ("number", "inf", "write a number"),
        ("number", "nan", "write a number"),
        ("pairs", "KEY", "NAME=value"),
        ("json", "{", "no JSON"),
        ("choice", "none of them", "choose one of: a, b"),
        ("line", "one\ntwo", "one line"),
    ],
)
def test_wrong_values_say_what_to_write(kind: FieldKind, text: str, advice: str) -> None:
    """The message stands at the field."""
    one = field(kind, choices=("a", "b") if kind == "choice" else ())
    with pytest.raises(FieldValueError, match=advice):
        field_values.parse_value(one, text)


def test_a_needed_field_may_not_be_empty() -> None:
    """The others have their usual values then."""
    needed, other = field("line", "a", required=True), field("line", "b")
    posted = {needed.name: " ", other.name: ""}
    changed, problems = field_values.read_form([needed, other], posted, {"a": "x", "b": "y"})
    assert changed[("b",)] is None
    assert problems == {needed.name: "this is needed"}


def test_ids_keep_their_type() -> None:
    """A chat of Telegram is a number in the file, one of Slack a text."""
    one = field("line")
    assert field_values.parse_value(one, "43", 42) == 43
    assert field_values.parse_value(one, "43", "42") == "43"
    assert field_values.parse_value(field("words"), "42\n43", [42]) == [42, "43"]


def test_only_what_changed_is_written() -> None:
    """Other values of the part stay as they are, comments in the layout included."""
    present: JsonValue = {"model": "a", "budget": {"usdPerDay": 1}}
    changed: dict[tuple[str, ...], JsonValue] = {("model",): "b", ("budget", "usdPerDay"): 2}
    assert field_values.list_value_changes(("agents", 0), present, changed) == [
        ValueChange(path=("agents", 0, "model"), value="b"),
        ValueChange(path=("agents", 0, "budget", "usdPerDay"), value=2),
    ]


def test_a_part_that_becomes_empty_goes_whole() -> None:
    """No empty object is left behind, and none is written into what is no object."""
    emptied = field_values.list_value_changes(
        ("agents", 0), {"budget": {"usdPerDay": 1}}, {("budget", "usdPerDay"): None}
    )
    assert emptied == [ValueChange(path=("agents", 0, "budget"), remove=True)]
    filled = field_values.list_value_changes(
        ("agents", 0), {"budget": None}, {("budget", "usdPerDay"): 1}
    )
    assert filled == [ValueChange(path=("agents", 0, "budget"), value={"usdPerDay": 1})]


def test_a_new_part_is_added_whole() -> None:
    """With the values that were written, and nothing else."""
    changed: dict[tuple[str, ...], JsonValue] = {
        ("agentId",): "home",
        ("budget", "usdPerDay"): 1,
        ("model",): None,
    }
    assert field_values.list_value_changes(("agents", 2), None, changed) == [
        ValueChange(path=("agents", 2), value={"agentId": "home", "budget": {"usdPerDay": 1}})
    ]
