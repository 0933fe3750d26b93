"""The output grammar becomes text for the model and a contract for its answer."""

from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from thinker.formats.prompts.grammar import OutputSchemaError, parse_type, read
from thinker.prompt.render.output_contract import output_model
from thinker.prompt.render.requirement import requirement
from thinker.prompt.render.serialize import to_data, to_json, to_yaml


class Person(BaseModel):
    """A person."""

    name: str = Field(description="the\nname")
    friends: list["Person"] = []


class Colour(Enum):
    """Two of many."""

    RED = "red"
    BLUE = "blue"


def test_keys_and_descriptions_stay_on_one_line() -> None:
    """Quotes are escaped and line breaks become spaces; in Agently both break the layout."""
    schema = {'a"b': (str, "one\n  two")}
    assert requirement(read(schema)) == '{\n  "a\\"b": <str> // one two\n}'
    assert requirement(read(schema), "4.0.7") == '{\n  "a"b": <str> // one\n  two\n}'


def test_content_of_a_tuple_has_normal_indentation() -> None:
    """Agently indents it one level too deep."""
    schema = {"a": ({"b": (int,)}, "d")}
    assert requirement(read(schema)) == '{\n  "a": {\n    "b": <int>\n  } // d\n}'
    assert requirement(read(schema), "4.0.7") == '{\n  "a": {\n      "b": <int>\n    } // d\n}'


def test_recursive_model_is_expanded_once() -> None:
    """Inside itself, only the name of the model is shown."""
    assert requirement(read({"people": list[Person]})) == (
        '{\n  "people": [\n    {\n      "name": <str>, // the name\n      "friends": [\n'
        "        <Person>,\n        ...\n      ]\n    },\n    ...\n  ]\n}"
    )


def test_field_without_a_default_is_required() -> None:
    """Agently makes every field optional."""
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
    assert output_model({"a": str}, "4.0.7").model_validate({}).model_dump() == {"a": None}


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
            "colour": (Colour, "c"),
            "one": (Literal["a", "b"],),
            "maybe": int | None,
            "who": (Person, "p"),
            "any": Any,
            "words": "say something",
        }
    )
    given = {"colour": "red", "one": "b", "maybe": None, "who": {"name": "N"}, "any": [1]}
    answer = model.model_validate({**given, "words": "hello"})
    assert isinstance(answer.model_dump()["who"], dict)
    assert answer.model_dump()["colour"] is Colour.RED
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


def test_files_hold_types_as_text() -> None:
    """A schema written to a file is read back unchanged."""
    schema: dict[str, object] = {
        "a": (str, "d"),
        "b": ([(int, "n")], "many"),
        "c": (dict[str, int], "counts", {}),
        "d": list[str] | None,
        "e": (Literal["x", "y"], "pick"),
        "f": {"g": (bool,)},
    }
    data = to_data({"input": "x", "output": schema})
    assert to_yaml(data).startswith("input: x\noutput:\n  a:\n    $type: str\n    $desc: d\n")
    assert '"$type": "Literal[x, y]"' in to_json(data)
    again = requirement(read(data["output"]))
    assert again == requirement(read(schema))
    answer = {"a": "x", "b": [1], "d": None, "e": "y", "f": {"g": True}}
    assert output_model(data["output"]).model_validate(answer).model_dump()["c"] == {}


@pytest.mark.parametrize(
    "text",
    ["", "strr", "list[", "list[int, str]", "dict[str]", "__import__('os')", "str()", "a.b", "1"],
)
def test_text_that_is_not_a_type_is_refused(text: str) -> None:
    """No code in it is run."""
    with pytest.raises(OutputSchemaError, match="is not a type; write str"):
        parse_type(text)


def test_type_nested_too_deeply_is_refused() -> None:
    """The parser's recursion limit becomes an OutputSchemaError."""
    with pytest.raises(OutputSchemaError):
        parse_type("list[" * 5000 + "int" + "]" * 5000)
