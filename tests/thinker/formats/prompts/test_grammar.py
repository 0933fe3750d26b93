"""Types in files are text, which is parsed without running it."""

from typing import Literal

import pytest

from thinker.formats.prompts.grammar import OutputSchemaError, parse_type


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("str", str),
        ("list[int]", list[int]),
        ("dict[str, bool]", dict[str, bool]),
        ("str | None", str | None),
        ("Optional[int]", int | None),
        ("Literal['a', b]", Literal["a", "b"]),
    ],
)
def test_text_names_a_type(text: str, kind: object) -> None:
    """The names are those of Python; values of a Literal may omit their quotes."""
    assert parse_type(text) == kind


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
