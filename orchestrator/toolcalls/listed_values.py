"""Whole values in the results of tools that list something, such as a directory of people.

Pure. Only whole fields count, never text inside one: the author of a text cannot put a value
beside it.

Where: may a value be chosen from a list that a tool returned?
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

import orjson
from pydantic import JsonValue

from orchestrator.toolcalls import value_forms
from orchestrator.toolcalls.deciding_arguments import split_name
from thinker.formats import plain_yaml

MAX_YAML = 24_000  # characters; these take about ten milliseconds
_YAML = re.compile(r"(?:- )?[\w ]{1,40}:(?: |$)|- ")
_FLOW = re.compile(r"(?:^|: |- )[\[{](?![\]}])", re.MULTILINE)  # a text after a colon may have it
MAX_RESULT = 200_000  # characters
DEPTH = 8  # levels of a result
NAMES = frozenset(("name", "title", "filename", "subject", "label"))
MIN_NAME = 4  # letters of a name by which an entry is chosen
PEOPLE = frozenset(
    (
        "user",
        "users",
        "sender",
        "recipient",
        "author",
        "member",
        "members",
        "channel",
        "channels",
        "username",
    )
)
ADDRESSES = frozenset(
    re.findall(r"\w+", "email mail address phone number iban account username handle")
)
MAX_CARD = 120  # characters of each field of an entry that has no text, such as a contact's
MAX_ALIKE = 1  # different entries of a name
HANDLE = re.compile(r"[#@]?[^\W\d][\w-]*(?: [\w-]+){0,3}")
MAX_HANDLE = 40  # characters


def parse_result(text: str) -> JsonValue:
    """Return the values of a result in JSON or YAML; None if it is neither."""
    if len(text) > MAX_RESULT:
        return None
    with suppress(orjson.JSONDecodeError):
        found: JsonValue = orjson.loads(text)
        return found
    lines = text.splitlines()
    if lines and lines[0][:1] in "{[":
        with suppress(orjson.JSONDecodeError):
            return [orjson.loads(line) for line in lines if line.strip()]
    if len(text) <= MAX_YAML and _YAML.match(text) and not _FLOW.search(text):
        with suppress(plain_yaml.YamlError):
            whole = "\n".join(f"  {line}" for line in lines)
            return plain_yaml.parse_mapping(f"result:\n{whole}", "a result")["result"]
    if all(HANDLE.fullmatch(line) for line in lines):
        return [*lines]
    return None


def collect_directory_values(result: JsonValue) -> frozenset[str]:
    """Return the addresses, accounts and names that are whole fields of a directory."""
    found = map(value_forms.normalize_text, map(str.strip, _iter_texts(result, DEPTH)))
    return frozenset(one for one in found if _is_address_or_name(one))


def _is_address_or_name(value: str) -> bool:
    if not value or len(value) > MAX_HANDLE * 2 or value_forms.is_deceptive(value):
        return False
    if HANDLE.fullmatch(value) and len(value) <= MAX_HANDLE:
        return True
    whole = len(value.split()) == 1 and value_forms.is_code(value)
    return whole or value_forms.build_pattern(value_forms.remove_grouping(value)) is not None


def collect_handles(result: JsonValue) -> frozenset[str]:
    """Return the names of people and channels that are whole fields of a result."""
    if isinstance(result, list) and all(isinstance(one, str) for one in result):
        found = [one for one in result if isinstance(one, str)]
        # A list of texts may hold one that its author wrote as a name.
        names = found if all(map(_is_handle, found)) else []
    else:
        entries = _iter_entries(result, DEPTH)
        names = [
            v for one in entries for k, v in one.items() if isinstance(v, str) and names_people(k)
        ]
    return frozenset(value_forms.normalize_text(name) for name in names if _is_handle(name))


def names_people(key: str) -> bool:
    """Return whether a field or an argument is called like one of people or channels."""
    return bool(split_name(key) & PEOPLE)


def _is_handle(name: str) -> bool:
    return len(name) <= MAX_HANDLE and HANDLE.fullmatch(name) is not None


def find_chosen_ids(
    results: Iterable[JsonValue], is_known: Callable[[str], bool]
) -> frozenset[str]:
    """Return the ids of the entries that the user named; none of a name that several have."""
    return frozenset(
        ids[0]
        for entries in _group_named_entries(results, is_known).values()
        if len(ids := list(dict.fromkeys(map(_find_id, entries)))) == 1 and ids[0]
    )


def find_fields(
    results: Iterable[JsonValue], is_known: Callable[[str], bool], name: str
) -> frozenset[str]:
    """Return the whole values of a field in the one entry that the user named.

    The field is called like the argument ``name``, or it is the address in an entry without text.
    """
    found: list[str] = []
    wanted = split_name(name)
    for entries in _group_named_entries(results, is_known).values():
        if len(set(map(_find_id, entries))) > 1 or len(entries) > MAX_ALIKE:
            continue
        for entry in entries:
            card = all(len(text) <= MAX_CARD for text in _iter_texts(dict(entry), DEPTH))
            for key, value in entry.items():
                words = split_name(key)
                if words & wanted or (card and words & ADDRESSES):
                    found += _iter_texts(value, DEPTH)
    return frozenset(map(value_forms.normalize_text, found))


def _group_named_entries(
    results: Iterable[JsonValue], is_known: Callable[[str], bool]
) -> dict[str, list[Mapping[str, JsonValue]]]:
    groups: dict[str, list[Mapping[str, JsonValue]]] = {}
    for result in results:
        for entry in _iter_entries(result, DEPTH):
            for key, name in entry.items():
                if not isinstance(name, str) or not split_name(key) & NAMES:
                    continue
                if sum(map(str.isalpha, name)) >= MIN_NAME and is_known(name):
                    group = groups.setdefault(value_forms.normalize_text(name), [])
                    if entry not in group:
                        group.append(entry)
    return groups


def _find_id(entry: Mapping[str, JsonValue]) -> str:
    ids = [v for k, v in entry.items() if split_name(k) & {"id", "uid"}]
    return str(ids[0]) if len(ids) == 1 and isinstance(ids[0], str | int) else ""


def _iter_entries(value: JsonValue, depth: int) -> Iterator[Mapping[str, JsonValue]]:
    if isinstance(value, dict):
        yield value
    if depth and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _iter_entries(item, depth - 1)


def _iter_texts(value: JsonValue, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _iter_texts(item, depth - 1)
