"""The output grammar becomes text for the model."""

from pydantic import BaseModel, Field

from thinker.formats.prompts.grammar import parse_output_schema
from thinker.prompt.render.requirement import format_requirement


class Person(BaseModel):
    """A person."""

    name: str = Field(description="the\nname")
    friends: list["Person"] = []


def test_keys_and_descriptions_stay_on_one_line() -> None:
    """Quotes are escaped and line breaks become spaces."""
    schema = {'a"b': (str, "one\n  two")}
    assert format_requirement(parse_output_schema(schema)) == '{\n  "a\\"b": <str> // one two\n}'


def test_content_of_a_tuple_has_normal_indentation() -> None:
    """As if there were no tuple."""
    schema = {"a": ({"b": (int,)}, "d")}
    assert (
        format_requirement(parse_output_schema(schema))
        == '{\n  "a": {\n    "b": <int>\n  } // d\n}'
    )


def test_recursive_model_is_expanded_once() -> None:
    """Inside itself, only the name of the model is shown."""
    assert format_requirement(parse_output_schema({"people": list[Person]})) == (
        '{\n  "people": [\n    {\n      "name": <str>, // the name\n      "friends": [\n'
        "        <Person>,\n        ...\n      ]\n    },\n    ...\n  ]\n}"
    )
