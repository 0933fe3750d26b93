"""Tell which arguments of a call decide where it goes and what it touches.

Pure. It goes by the names of the arguments and by the tool's schema, unless the configuration says
it. An argument of unknown nature decides.

Where: does an argument decide, or is it content?
"""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from orchestrator.toolcalls import value_forms
from thinker.protocol.messages import JsonObject

# What decides; what is only said; a time; what has no destination: yes or no, listed words, sizes.
Nature: TypeAlias = Literal["decides", "content", "time", "choice"]
DEPTH = 8  # levels of arguments; below, all decides
MAX_LEAVES = 200  # values of a call that are looked at; one with more is asked about
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def _list_words(words: str) -> frozenset[str]:
    return frozenset(words.split())


CONTENT = _list_words(
    "body text content contents message messages subject title description note notes comment "
    "comments summary caption markdown html details reason location greeting prompt question "
    "memo remark remarks headline abstract feedback review agenda instructions reply answer "
    "data lines rows value"
)
DECIDING = _list_words(
    "to cc bcc recipient recipients address addresses email emails mail channel channels chat "
    "user users member members participant participants attendee attendees guest guests url "
    "urls uri link links href host domain endpoint webhook path paths file files filename "
    "folder directory id ids uid iban account bic number phone amount price sum total "
    "quantity password secret token key name command code query target destination source"
)
FORMATS = _list_words("uri url email hostname")  # of a schema
TIMES = _list_words("date day time start end begin until from due deadline when at on")
SIZES = _list_words(
    "n limit offset page pages size count max min top depth width height timeout seconds "
    "duration minutes hours days results retries"
)
KINDS = _list_words("type kind format mode language lang locale order sort")
ACCESS = _list_words("permission permissions role roles access visibility scope scopes admin")
LEAST_ACCESS = ("r", "read", "reader", "view", "viewer", "readonly", "read-only", "private")


class ArgumentLeaf(NamedTuple):
    """A value of a call at its path, such as ``attachments[0].file_id``, and its nature."""

    path: str
    value: str | float
    nature: Nature


def list_leaves(
    arguments: JsonObject, schema: JsonObject, told: Mapping[str, tuple[str, ...]]
) -> list[ArgumentLeaf] | None:
    """Return the values of a call; None if there are too many to look at.

    ``told`` has the configured patterns of arguments that ``decide`` or are ``content``.
    """
    found: list[ArgumentLeaf] = []
    for leaf in _iter_leaves("", "", arguments, schema, DEPTH):
        if len(found) == MAX_LEAVES:
            return None
        found.append(_apply_told(leaf, told))
    return found


def _apply_told(leaf: ArgumentLeaf, told: Mapping[str, tuple[str, ...]]) -> ArgumentLeaf:
    names = (leaf.path, leaf.path.partition(".")[0].partition("[")[0])
    for nature, patterns in (("decides", "decide"), ("content", "content")):
        if any(fnmatchcase(name, one) for name in names for one in told.get(patterns, ())):
            return leaf._replace(nature="decides" if nature == "decides" else "content")
    return leaf


def _iter_leaves(
    path: str, name: str, value: JsonValue, schema: JsonValue, depth: int
) -> Iterator[ArgumentLeaf]:
    known = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict) and depth:
        properties = known.get("properties")
        for key, item in value.items():
            part = properties.get(key) if isinstance(properties, dict) else None
            if part is None and name and not _is_known(key):  # a key that is data: it decides
                yield ArgumentLeaf(f"{path}.{key}", key, "decides")
            yield from _iter_leaves(f"{path}.{key}" if path else key, key, item, part, depth - 1)
    elif isinstance(value, list) and depth:
        for at, item in enumerate(value):
            yield from _iter_leaves(f"{path}[{at}]", name, item, known.get("items"), depth - 1)
    elif isinstance(value, dict | list):
        yield ArgumentLeaf(path, str(value), "decides")
    elif value is not None and value != "":
        yield ArgumentLeaf(path, value, _judge_value(name, value, known))


def _judge_value(name: str, value: str | float, schema: JsonObject) -> Nature:
    words = split_name(name)
    if not isinstance(value, bool) and words & ACCESS:
        return "choice" if str(value).lower() in LEAST_ACCESS else "decides"
    listed = schema.get("enum")
    if isinstance(value, bool) or (isinstance(listed, list) and value in listed):
        return "choice"
    if not isinstance(value, str):
        return "choice" if words & SIZES and not words & DECIDING else "decides"
    return _judge_text(words, value, str(schema.get("format")))


def _judge_text(words: frozenset[str], value: str, form: str) -> Nature:
    if value_forms.is_date_or_time(value):
        return "time"
    if words & DECIDING or form in FORMATS:
        return "decides"
    if words & CONTENT:
        return "content"
    return "choice" if words and words <= KINDS and value.isidentifier() else "decides"


def is_end(name: str) -> bool:
    """Return whether an argument is the time at which something ends."""
    return bool(split_name(name) & {"end", "until", "to", "finish", "stop"})


def split_name(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(name.rpartition(".")[2]))


def _is_known(name: str) -> bool:
    return bool(split_name(name) & (CONTENT | DECIDING | TIMES | SIZES | ACCESS)) or name == "type"
