"""The output grammar becomes a contract for the answer."""

from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from thinker.formats.prompts.grammar import OutputSchemaError
from thinker.prompt.render.output_contract import output_model


class Person(BaseModel):
    """A person."""

    name: str = Field(description="the name")
    friends: list["Person"] = []


class Color(Enum):
    """An enumeration."""

    RED = "red"
    BLUE = "blue"


def test_field_without_a_default_is_required() -> None:
    """Each that is missing is named."""
    model = output_model({"a": (str, "d"), "b": int, "c": (int, "n", 7), "d": {"e": (bool,)}})
    assert model.model_validate({"a": "x", "b": "2", "d": {"e": "true"}}).model_dump() == {
        "a": "x",
        "b": 2,
        "c": 7,
        "d": {"e": True},
    }
    with pytest.raises(ValidationError) as caught:
        model.model_validate({"d": {}})
    assert [error["loc"] for error in caught.value.errors()] == [("a",), ("b",), ("d", "e")]


@pytest.mark.parametrize("number", ["nan", "inf", float("nan")])
def test_number_that_json_cannot_hold_is_refused(number: object) -> None:
    """The reply is JSON, and would have to say null."""
    with pytest.raises(ValidationError):
        output_model({"price": float}).model_validate({"price": number})


def test_single_value_becomes_a_list_and_items_are_validated() -> None:
    """Models omit the brackets of a single item; a wrong item is named by its index."""
    model = output_model({"xs": ([{"id": (int,)}], "items"), "ys": [str]})
    assert model.model_validate({"xs": {"id": "1"}, "ys": "a"}).model_dump() == {
        "xs": [{"id": 1}],
        "ys": ["a"],
    }
    with pytest.raises(ValidationError) as caught:
        model.model_validate({"xs": [{"id": 1}, {"id": "q"}], "ys": []})
    assert caught.value.errors()[0]["loc"] == ("xs", 1, "id")


def test_python_types_are_validated() -> None:
    """Enumerations, literals, unions, models, and Any."""
    model = output_model(
        {
            "color": (Color, "c"),
            "one": (Literal["a", "b"],),
            "maybe": int | None,
            "who": (Person, "p"),
            "any": Any,
            "words": "say something",
        }
    )
    given = {"color": "red", "one": "b", "maybe": None, "who": {"name": "N"}, "any": [1]}
    answer = model.model_validate({**given, "words": "hello"})
    assert isinstance(answer.model_dump()["who"], dict)
    assert answer.model_dump()["color"] is Color.RED
    assert model.model_fields["words"].description == "say something"


def test_field_may_have_any_name() -> None:
    """Even names that Python or pydantic reserve."""
    keys = ("_hidden", "with space", "copy", "model_x", "class", "回复")
    model = output_model(dict.fromkeys(keys, (int,)))
    given = dict.fromkeys(keys, 1)
    assert model.model_validate(given).model_dump(by_alias=True) == given
    assert set(model.model_json_schema()["properties"]) == set(keys)


def test_list_at_the_root_becomes_the_field_list() -> None:
    """A pydantic model is used as it is."""
    model = output_model([(int, "n")])
    assert model.model_validate({"list": ["1", 2]}).model_dump() == {"list": [1, 2]}
    assert output_model(Person) is Person


def test_type_without_json_values_is_refused() -> None:
    """The error says what to use instead."""
    with pytest.raises(OutputSchemaError, match="use a type that JSON has"):
        output_model({"a": (type("Foreign", (), {}),)})
    with pytest.raises(TypeError, match="not a structure data"):
        output_model("words")
