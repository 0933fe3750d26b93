"""Name the places of secrets in JSON, also in a text that is no JSON yet."""

import re
from collections.abc import Iterator

from pydantic import JsonValue

from orchestrator.agentsfile.positions import MAX_DEPTH, JsonPath
from orchestrator.agentsfile.problems import SECRET_FIELDS

MAX_LABEL = 280  # characters; a number may follow
IDENTITIES = ("agentId", "id", "name")  # what distinguishes an item of a list
_TOKEN = re.compile(r'"((?:[^"\\\n]|\\.)*)"?(\s*:)?|[{}\[\],]')


def name_place(path: JsonPath, value: JsonValue) -> str:
    """Return a label that stays the same when other items of a list come or go."""
    words = []
    for part in path:
        inner: JsonValue = None
        if isinstance(value, list) and isinstance(part, int):
            inner = value[part]
        elif isinstance(value, dict):
            inner = value.get(str(part))
        held = inner if isinstance(value, list) and isinstance(inner, dict) else {}
        own = (held.get(key) for key in IDENTITIES)
        words.append(next((one for one in own if isinstance(one, str) and one), str(part)))
        value = inner
    return _join_words(words)


def iter_broken_places(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where strings in fields for secrets are in a text that is no JSON yet, with labels.

    As far as the text can be understood, the labels are those that `name_place` returns: so a text
    with an error goes back to a version of it and keeps its secrets.
    """
    words, numbers = [""], [-1]  # of what is open: the present name or item, and the item's number
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{" | "[":
                numbers.append(0 if token[0] == "[" else -1)
                words.append(str(numbers[-1]))
            case "}" | "]" if len(words) > 1:
                del words[-1], numbers[-1]
            case "," if numbers[-1] >= 0:
                numbers[-1] += 1
                words[-1] = str(numbers[-1])
            case _ if token[2]:
                words[-1] = token[1]
            case _ if token[1]:
                if not SECRET_FIELDS.isdisjoint(words):
                    yield *token.span(1), _join_words(words[1:])
                if _is_identity(words, numbers):
                    words[-2] = token[1]
        if len(words) > MAX_DEPTH:
            return


def _join_words(words: list[str]) -> str:
    return "/".join(word[:MAX_LABEL] for word in words)[:MAX_LABEL]


def _is_identity(words: list[str], numbers: list[int]) -> bool:
    """Return whether a value distinguishes the object that it is in from the others of a list."""
    if words[-1] not in IDENTITIES or numbers[-1] >= 0 or max(numbers[-2:-1], default=-1) < 0:
        return False
    return words[-1] == IDENTITIES[0] or words[-2] == str(numbers[-2])
