"""Variables in JSON values, written as ``${NAME}``."""

import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from thinker.formats.prompts.problem import DefinitionError

PLACE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def list_variable_names(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from PLACE.findall(value)
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from list_variable_names(item)


def fill_variables(value: JsonValue, values: Mapping[str, str]) -> JsonValue:
    """Replace the variables in a JSON value by their values.

    Raises:
        DefinitionError: A variable is not set.
    """
    unset = next((name for name in list_variable_names(value) if name not in values), None)
    if unset is not None:
        raise DefinitionError(f"the variable {unset} is not set; the operator has to set it")
    return fill_known_variables(value, values)


def fill_known_variables(value: JsonValue, values: Mapping[str, str]) -> JsonValue:
    """Replace the variables that have a value, and leave others as they are."""
    if isinstance(value, str):
        return PLACE.sub(lambda place: values.get(place[1], place[0]), value)
    if isinstance(value, list):
        return [fill_known_variables(item, values) for item in value]
    if isinstance(value, dict):
        return {key: fill_known_variables(item, values) for key, item in value.items()}
    return value
