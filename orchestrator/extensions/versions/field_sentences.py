"""Say what changes in fields of JSON: the named ones of an object, and any other by its path."""

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from pydantic import JsonValue

from orchestrator.agentsfile.problems import SECRET_FIELDS, SECRET_NAME
from orchestrator.extensions.versions.text_sentences import choose_verb, cut_text
from thinker.protocol.messages import JsonObject

MAX_VALUE = 60  # characters of a value in a sentence
MAX_ITEMS = 8  # of a list in a sentence
ABSENT = "not set"
Names = Sequence[str]


def describe_fields(owner: str, old: JsonValue, new: JsonValue) -> Iterator[str]:
    """Yield a sentence for each changed part below ``owner``, which names it by its path."""
    if old == new and type(old) is type(new):
        return
    parts = _list_parts(owner, old, new)
    if is_secret_place(owner):
        yield from _describe_secret(owner, old, new)
    elif _is_list_of_words(old) and _is_list_of_words(new):
        yield _describe_list(owner, read_words(old), read_words(new))
    elif parts:
        for place, was, now in parts:
            yield from describe_fields(place, was, now)
    else:
        yield describe_difference(owner, format_value(old), format_value(new))


def _list_parts(
    owner: str, old: JsonValue, new: JsonValue
) -> list[tuple[str, JsonValue, JsonValue]]:
    """Return the parts of two objects or lists by place; one of the two may be absent."""
    kinds = {type(value) for value in (old, new) if value is not None}
    if kinds == {dict}:
        before, after = read_object(old), read_object(new)
        dot = "" if not owner or owner.endswith(" ") else "."
        return [
            (f"{owner}{dot}{key}", before.get(key), after.get(key))
            for key in dict.fromkeys((*before, *after))
        ]
    if kinds == {list}:
        first, second = (value if isinstance(value, list) else [] for value in (old, new))
        pairs = enumerate(zip_longest(first, second))
        return [(f"{owner}[{number}]", was, now) for number, (was, now) in pairs]
    return []


def describe_difference(what: str, old: str, new: str) -> str:
    """Return ``what: old → new``, or that it changes where the values tell nothing."""
    return f"{what}: {old} → {new}" if old != new else f"{what} changes"


def is_secret_place(place: str) -> bool:
    """Return whether a field at a path such as ``mcpServers.wiki.env.KEY`` may hold a secret."""
    parts = place.replace(":", ".").replace(" ", ".").split(".")
    known = not SECRET_FIELDS.isdisjoint(parts)
    return known or SECRET_NAME.fullmatch(parts[-1].lower()) is not None


def format_value(value: JsonValue) -> str:
    """Return a short form of a value for a sentence."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        text = value.replace("\n", " ")
        quoted = json.dumps(text, ensure_ascii=False)
        return text if 0 < len(text) <= MAX_VALUE else cut_text(quoted, MAX_VALUE)
    if isinstance(value, int):
        return f"{value:,}"
    if _is_list_of_words(value):
        return join_words(read_words(value)) or "none"
    return cut_text(json.dumps(value, ensure_ascii=False), MAX_VALUE)


def join_words(words: Names, last: str = "and") -> str:
    """Return ``a, b and c``; a long list is cut."""
    shown = list(words[:MAX_ITEMS])
    if len(words) > MAX_ITEMS:
        return f"{', '.join(shown)} {last} {len(words) - MAX_ITEMS} more"
    return f" {last} ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def read_object(value: JsonValue) -> JsonObject:
    """Return an object, empty if the value is something else."""
    return value if isinstance(value, dict) else {}


def read_words(value: JsonValue) -> list[str]:
    """Return the texts and numbers of a list; empty if the value is something else."""
    items = value if isinstance(value, list) else ()
    return [str(item) for item in items if isinstance(item, str | int)]


def _is_list_of_words(value: JsonValue) -> bool:
    if value is None:
        return True
    return isinstance(value, list) and all(isinstance(item, str | int) for item in value)


def _describe_list(owner: str, old: Names, new: Names) -> str:
    added = [word for word in new if word not in old]
    gone = [word for word in old if word not in new]
    changes = []
    if added:
        changes.append(f"{join_words(added)} {choose_verb(added)} added")
    if gone:
        changes.append(f"{join_words(gone)} {choose_verb(gone)} removed")
    return f"{owner}: {', '.join(changes) or 'another order'}"


def _describe_secret(owner: str, old: JsonValue, new: JsonValue) -> Iterator[str]:
    """Yield what happens to a field, or to each field of an object, without its value."""
    if isinstance(old or new, dict):
        before, after = read_object(old), read_object(new)
        for key in dict.fromkeys((*before, *after)):
            if before.get(key) != after.get(key):
                yield from _describe_secret(f"{owner}.{key}", before.get(key), after.get(key))
        return
    change = "is set" if old is None else "is removed" if new is None else "has a new value"
    yield f"{owner} {change}"
