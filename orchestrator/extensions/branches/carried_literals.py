"""Find codes, tokens and links in a call's arguments that an abandoned part has brought or used.

A code counts once and a link may act when it is opened, so a call with one asks. Ordinary words are
no literals, however long.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from pydantic import JsonValue

from thinker.protocol.messages import JsonObject

SHORTEST = 12  # characters of a literal
MAX_LITERALS = 200  # of a call's arguments that are looked for
_LITERAL = re.compile(rf"[^\s\"'`<>()\[\]{{}},;|\\]{{{SHORTEST},}}")
_CARRIES = re.compile(r"[0-9@/_=]")  # what no word of a language has
_OPAQUE = re.compile(r"(?=.*[0-9])[A-Za-z0-9_-]+")  # as codes and tokens are, not names or paths


def iter_literals(arguments: JsonObject) -> Iterator[str]:
    """Yield the literals in the arguments of a call, in order."""
    for text in _iter_texts(arguments):
        for found in _LITERAL.finditer(text):
            literal = found[0].strip(".:!?")
            if len(literal) >= SHORTEST and _CARRIES.search(literal):
                yield literal


def find_carried_literal(
    arguments: JsonObject,
    results: Iterable[str],
    spent: Iterable[str],
    is_known: Callable[[str], bool],
) -> str | None:
    """Return a literal of a call that the abandoned part has in its results or spent.

    ``results`` are texts of its results, ``spent`` the arguments of its calls with effects. What
    is in a result ``is_known`` if it was there before.
    """
    literals = list(dict.fromkeys(iter_literals(arguments)))[:MAX_LITERALS]
    if not literals:
        return None
    told, used = "\n".join(results), "\n".join(spent)
    for literal in literals:
        if literal in used and _OPAQUE.fullmatch(literal):
            return literal
        if literal in told and not is_known(literal):
            return literal
    return None


def _iter_texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _iter_texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _iter_texts(item)
