"""Placeholders in the options of tools."""

import pytest
from pydantic import JsonValue

from thinker.formats.prompts.problem import DefinitionError
from thinker.formats.prompts.substitution import fill_variables, list_variable_names

OPTIONS: JsonValue = {"key": "Bearer ${KEY}", "${KEY}": [1, None, {"in": "${A}${A} ${not one} $A"}]}


def test_places_are_found_and_filled_at_every_depth() -> None:
    """Only in values; lookalikes stay, and filled values are not searched again."""
    assert list(list_variable_names(OPTIONS)) == ["KEY", "A", "A"]
    assert fill_variables(OPTIONS, {"KEY": "${A}", "A": "b"}) == {
        "key": "Bearer ${A}",
        "${KEY}": [1, None, {"in": "bb ${not one} $A"}],
    }


def test_variable_that_is_not_set_is_named() -> None:
    """An empty one counts as set."""
    with pytest.raises(DefinitionError, match="the variable A is not set"):
        fill_variables(OPTIONS, {"KEY": ""})
