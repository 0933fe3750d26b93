"""The output grammar by our own rules: text for the model, and a model for its answer."""

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


def test_keys_and_descriptions_keep_to_their_line() -> None:
    """Quotes are escaped and line breaks become spaces; upstream lets both break the layout."""
    schema = {'a"b': (str, "one\n  two")}
    assert requirement(read(schema)) == '{\n  "a\\"b": <str> // one two\n}'
    assert requirement(read(schema), "4.0.7") == '{\n  "a"b": <str> // one\n  two\n}'


def test_what_a_tuple_wraps_is_indented_as_anything_else() -> None:
    """Upstream goes one level too deep."""
    schema = {"a": ({"b": (int,)}, "d")}
    assert requirement(read(schema)) == '{\n  "a": {\n    "b": <int>\n  } // d\n}'
    assert requirement(read(schema), "4.0.7") == '{\n  "a": {\n      "b": <int>\n    } // d\n}'


def test_models_are_shown_by_their_fields_even_inside_themselves() -> None:
    """The second time a model comes, its name stands for it."""
    assert requirement(read({"people": list[Person]})) == (
        '{\n  "people": [\n    {\n      "name": <str>, // the name\n      "friends": [\n'
        "        <Person>,\n        ...\n      ]\n    },\n    ...\n  ]\n}"
    )


def test_a_field_is_required_unless_it_has_a_default() -> None:
    """An answer that lacks one is no answer; upstream takes anything."""
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


def test_one_value_becomes_a_list_of_it_and_items_are_checked_where_they_stand() -> None:
    """Models write a lone item without its brackets; a wrong item is named by its number."""
    model = output_model({"xs": ([{"id": (int,)}], "items"), "ys": [str]})
    assert model.model_validate({"xs": {"id": "1"}, "ys": "a"}).model_dump() == {
        "xs": [{"id": 1}],
        "ys": ["a"],
    }
    with pytest.raises(ValidationError) as caught:
        model.model_validate({"xs": [{"id": 1}, {"id": "q"}], "ys": []})
    assert caught.value.errors()[0]["loc"] == ("xs", 1, "id")


def test_types_of_python_are_checked_as_they_are() -> None:
    """Enumerations, literals, alternatives, models, anything."""
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


def test_any_key_may_be_a_field() -> None:
    """Also those that Python or pydantic keep for themselves."""
    keys = ("_hidden", "with space", "copy", "model_x", "class", "回复")
    model = output_model(dict.fromkeys(keys, (int,)))
    given = dict.fromkeys(keys, 1)
    assert model.model_validate(given).model_dump(by_alias=True) == given
    assert set(model.model_json_schema()["properties"]) == set(keys)


def test_a_list_at_the_root_is_the_field_list() -> None:
    """And a model is its own contract."""
    model = output_model([(int, "n")])
    assert model.model_validate({"list": ["1", 2]}).model_dump() == {"list": [1, 2]}
    assert output_model(Person) is Person


def test_a_type_that_json_has_not_is_refused_with_a_way_out() -> None:
    """The error is ours, not pydantic's."""
    with pytest.raises(OutputSchemaError, match="use a type that JSON has"):
        output_model({"a": (type("Foreign", (), {}),)})
    with pytest.raises(TypeError, match="not a structure data"):
        output_model("words")


def test_files_name_types_in_words() -> None:
    """What the to_data form holds can be read again as the same schema."""
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
def test_a_word_that_is_no_type_is_refused(text: str) -> None:
    """Nothing of it is run."""
    with pytest.raises(OutputSchemaError, match="is not a type; write str"):
        parse_type(text)


def test_a_type_nested_without_end_is_refused() -> None:
    """The reader's own limits are our error."""
    with pytest.raises(OutputSchemaError):
        parse_type("list[" * 5000 + "int" + "]" * 5000)
