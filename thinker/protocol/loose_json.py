"""Read JSON of other programs, where null and any value of a wrong type count as absent."""

from collections.abc import Mapping
from typing import Any, TypeAlias

Loose: TypeAlias = Mapping[str, Any]  # a JSON object whose values may have any type
NOTHING: Loose = {}
MAX_COUNT = 2**53  # all that JSON numbers hold exactly


def get_object(value: object, key: str) -> Loose:
    """Return an object's field that is an object; empty if it is not."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else NOTHING


def get_list(value: object, key: str) -> list[Any]:
    """Return an object's field that is a list; empty if it is not."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def get_text(value: object, key: str) -> str:
    """Return an object's field that is text or a number, as text; empty if it is neither."""
    found = value.get(key) if isinstance(value, dict) else None
    if isinstance(found, str):
        return found
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return str(found) if is_number else ""


def read_count(value: object) -> int | None:
    """Return a whole number, which may be written as a fraction or as text; None if there is none.

    Negative numbers count as none: providers use them for "unknown".
    """
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < MAX_COUNT else None
