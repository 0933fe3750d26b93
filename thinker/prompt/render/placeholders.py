"""``${name}`` placeholders: looked up once in flat mappings, in keys and values alike."""

import re
from collections.abc import Mapping

from thinker.formats.prompts.plain import mapped

PLACEHOLDER = re.compile(r"\$\{\s*([^}]+?)\s*\}")


def substitute(value: object, mappings: Mapping[str, object]) -> object:
    """The value with its placeholders filled, in mappings, lists, tuples and sets too.

    A text that is one placeholder becomes the mapped value, type and all; inside a longer text it
    becomes ``str`` of it. A name without mapping stays as it is. ``${user.name}`` looks up the key
    ``user.name``. What was filled in is not searched again.

    Raises:
        TypeError: ``mappings`` is no dictionary.
    """
    if not isinstance(mappings, dict):
        raise TypeError(f"Variable mappings require a dictionary but got: {mappings}")
    if isinstance(value, str):
        return _text(value, mappings)
    if isinstance(value, Mapping):
        return {
            substitute(key, mappings): substitute(item, mappings) for key, item in value.items()
        }
    if isinstance(value, list | tuple | set):
        return mapped(value, lambda item: substitute(item, mappings))
    return value


def _text(text: str, mappings: Mapping[str, object]) -> object:
    whole = PLACEHOLDER.fullmatch(text)
    if whole:
        return mappings.get(whole[1].strip(), text)
    return PLACEHOLDER.sub(lambda match: str(mappings.get(match[1].strip(), match[0])), text)
