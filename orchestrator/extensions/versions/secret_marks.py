"""Replace the secrets of a text by marks, and marks by the secrets of the present text.

Secrets are the values of `SECRET_FIELDS` unless they are taken from the environment by ``${NAME}``,
and what looks like a token anywhere. A mark names the place: a text goes back to an earlier version
with the secret that is at this place now.
"""

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from pydantic import JsonValue

from orchestrator.agentsfile.positions import (
    JsonPath,
    JsonSyntaxError,
    find_members,
    parse_json_document,
)
from orchestrator.agentsfile.problems import SECRET_FIELDS
from orchestrator.agentsfile.references import MARK as REFERENCE
from orchestrator.agentsfile.text_edits import JsonLayout
from orchestrator.config_problem import Problem
from orchestrator.extensions.versions.secret_places import MAX_LABEL, iter_broken_places, name_place
from orchestrator.journal.memory.secret_filter import iter_token_spans

MARK = re.compile(r'\[kept secret: ([^\[\]"\\\n]{1,300})\]')
UNUSUAL = re.compile(r'[\[\]"\\\n]')
SEARCHED = 64 * 1024  # characters at a time, for a search lets nothing else run
MAX_PROBLEMS = 20  # of marks in one text
_NAMES = "|".join(sorted(SECRET_FIELDS))
_JSON_START = re.compile(r"\s*\{(?!\{)")  # two begin a template
# In a text that is no JSON (yet): a field of secrets, and the values in it.
_JSON_FIELD = re.compile(
    rf'"(?:{_NAMES})"\s*:\s*(?:"(?:[^"\\\n]|\\.)*"?|\{{(?:"(?:[^"\\\n]|\\.)*"?|[^{{}}"])*)'
)
# In valid JSON: the name of such a field, also if it is written with escapes.
_JSON_SIGN = re.compile(rf'"(?:{_NAMES})"|\\u')
_END_OF_STRING = re.compile(r'(?<!\\)"')  # or its beginning
_JSON_VALUE = re.compile(r':\s*"((?:[^"\\\n]|\\.)+)')
# Of YAML: the space and dashes before a line's content, a name and its colon, and the rest.
_YAML_LINE = re.compile(r"([ \t]*)((?:-(?:[ \t]+|$))*)(?:([^\s#:\[{][^:#=]*):(?=\s|$)\s*)?(.*)")
_YAML_BLOCK = re.compile(r"[|>][-+0-9]*(?:\s+#.*)?")
_NEVER = sys.maxsize  # a place that no line has


class _Span(NamedTuple):
    """The place of a secret; ``whole`` says that it is all of a field that is for secrets."""

    start: int
    end: int
    label: str
    whole: bool


class Secret(NamedTuple):
    """A secret as the text has it; only a field for secrets may have one that was ``whole``."""

    raw: str
    whole: bool


class MaskedText(NamedTuple):
    """A text with marks, and its secrets by the labels of the marks."""

    text: str
    secrets: Mapping[str, Secret]


def mask_secrets(name: str, text: str) -> MaskedText:
    """Return a text without its secrets; ``name`` says of what kind it is."""
    parts, secrets, at = [], dict[str, Secret](), 0
    numbers = dict[str, int]()
    for span in _list_spans(name, text):
        raw = text[span.start : span.end]
        if MARK.fullmatch(raw):
            continue
        label = _make_unique(span.label, secrets, numbers)
        secrets[label] = Secret(raw, span.whole)
        parts += [text[at : span.start], f"[kept secret: {label}]"]
        at = span.end
    return MaskedText("".join([*parts, text[at:]]), secrets)


def restore_secrets(
    name: str, text: str, present: Mapping[str, Secret]
) -> tuple[str, tuple[Problem, ...]]:
    """Return a text with its marks replaced by the secrets of the present one, and the problems."""
    spans, problems = _list_spans(name, text), list[Problem]()

    def find_secret(mark: re.Match[str]) -> str:
        secret = present.get(mark[1])
        apart = secret is not None and secret.whole and not _is_in_field(spans, mark)
        if secret is not None and not apart:
            return secret.raw
        if len(problems) == MAX_PROBLEMS:
            return mark[0]
        reason = "the present text has no such secret"
        if apart:
            reason = "it may stand only where secrets belong"
        advice = "write the value, or ${NAME} of keys.env where that is filled in"
        line = text.count("\n", 0, mark.start()) + 1
        problems.append(Problem("error", name, line, None, f"{mark[0]}: {reason}; {advice}"))
        return mark[0]

    return MARK.sub(find_secret, text), tuple(problems)


def count_marks(text: str) -> int:
    """Return how many secrets a text leaves out."""
    return len(MARK.findall(text))


def _is_in_field(spans: list[_Span], mark: re.Match[str]) -> bool:
    """Return whether a mark is in a field for secrets; ``spans`` are in order."""
    place = bisect_right(spans, mark.start(), key=lambda span: span.start) - 1
    return place >= 0 and spans[place].whole and mark.end() <= spans[place].end


def _make_unique(label: str, taken: Mapping[str, object], numbers: dict[str, int]) -> str:
    """Return a label that is not taken; ``numbers`` has the last number of each label."""
    label = UNUSUAL.sub("_", label)[:MAX_LABEL]
    number, found = numbers.get(label, 1), label
    while found in taken:
        number += 1
        found = f"{label} {number}"
    numbers[label] = number
    return found


def _list_spans(name: str, text: str) -> list[_Span]:
    """Return the places of secrets in order; none overlaps another."""
    if name.endswith(".json") or _JSON_START.match(text):
        with suppress(JsonSyntaxError):
            document = parse_json_document(text)
            if not document.repeated:
                return sorted(_iter_leaf_spans(text, document.value))
        places = [_Span(*place, whole=True) for place in iter_broken_places(text)]
        told = [one for one in places if not REFERENCE.search(text, one.start, one.end)]
        rest = (one for one in _iter_broken_spans(text) if not _overlaps(told, one))
        own = sorted([*told, *rest])
    else:
        own = [*_iter_yaml_spans(text)]
    return sorted([*own, *(one for one in _iter_token_places(text) if not _overlaps(own, one))])


def _iter_leaf_spans(text: str, value: JsonValue) -> Iterator[_Span]:
    """Yield the secrets of valid JSON; a part without any sign of one is not looked at closely."""
    signs = sorted(_iter_signs(text))
    if not signs:
        return
    parts = list(_iter_parts(text))
    ends = [place for _, place, _ in parts[1:]] + [len(text)]
    for (path, place, at), end in zip(parts, ends, strict=True):
        named = not SECRET_FIELDS.isdisjoint(map(str, path))
        if named or bisect_left(signs, place) < bisect_left(signs, end):
            yield from _iter_spans_of_part(text, value, path, at)


def _iter_signs(text: str) -> Iterator[int]:
    """Yield where valid JSON may have a secret; other threads have their turn in between."""
    start = 0
    while start < len(text):
        quote = _END_OF_STRING.search(text, start + SEARCHED)
        end = len(text) if quote is None else quote.start()  # no string is cut
        yield from (sign.start() for sign in _JSON_SIGN.finditer(text, start, end + MAX_LABEL))
        yield from (start + at for at, _ in iter_token_spans(text[start:end]))
        start = end


def _iter_parts(text: str) -> Iterator[tuple[JsonPath, int, int]]:
    """Yield the members of the members of valid JSON in order: path, place, and where the value is.

    What has no members is a part by itself.
    """
    start = len(text) - len(text.lstrip())
    members = list(find_members(text, start))
    if not members:
        yield (), start, start
    for name, (place, at) in members:
        is_part = True
        for step, (start, value) in find_members(text, at):
            is_part = False
            yield (name, step), start, value
        if is_part:
            yield (name,), place, at


def _iter_spans_of_part(text: str, value: JsonValue, above: JsonPath, at: int) -> Iterator[_Span]:
    layout = JsonLayout(text)
    layout.read_value(at, above)
    for path, (first, last) in layout.values.items():
        quoted = text[first] == '"'
        start, end = first + quoted, last - quoted
        raw = text[start:end]
        if not raw or (raw[0] in "{[" and not quoted):
            continue
        label = name_place(path, value)
        if SECRET_FIELDS.isdisjoint(map(str, path)) or REFERENCE.search(raw):
            if quoted:
                yield from (
                    _Span(start + at, start + until, f"{label} {number}", whole=False)
                    for number, (at, until) in enumerate(iter_token_spans(raw), 1)
                )
        elif quoted:
            yield _Span(start, end, label, whole=True)


def _iter_broken_spans(text: str) -> Iterator[_Span]:
    """Yield the values of fields for secrets in a text that is not JSON yet."""
    number = 0
    for field in _JSON_FIELD.finditer(text):
        for value in _JSON_VALUE.finditer(field[0]):
            if not REFERENCE.search(value[1]):
                number += 1
                start = field.start() + value.start(1)
                yield _Span(start, start + len(value[1]), f"value {number}", whole=True)


def _iter_yaml_spans(text: str) -> Iterator[_Span]:
    """Yield what fields for secrets hold in YAML, line by line; a text of other lines has none."""
    end, label = 0, ""
    field = value = _NEVER  # the least places of further lines of a field, and of a value in it
    for full in text.splitlines(keepends=True):
        start, end, line = end, end + len(full), _split_yaml_line(full.rstrip())
        if line.place < field:
            field = value = _NEVER
            if line.key not in SECRET_FIELDS:
                continue
            field = line.place_below
        goes_on = line.place >= value
        if not goes_on:
            label, value = line.key or label, line.place_below if line.held else _NEVER
        held = line.content if goes_on else line.held
        if held and not _names_no_secret(held):
            until = start + len(full.rstrip())
            yield _Span(until - len(held), until, label, whole=True)


class _YamlLine(NamedTuple):
    """A line's name and value, if it has them; places are in half columns, for dashes count half.

    ``place_below`` is the least place of the lines that belong to this one.
    """

    place: int
    place_below: int
    key: str
    held: str
    content: str


def _split_yaml_line(line: str) -> _YamlLine:
    found = _YAML_LINE.fullmatch(line)
    if found is None or not line:
        return _YamlLine(_NEVER, _NEVER, "", "", "")
    space, dashes, key, held = found.groups(default="")
    column = len(space) + (len(dashes) if key else 0)
    return _YamlLine(
        place=2 * len(space) + bool(dashes),
        place_below=2 * column + (2 if held else 1),
        key=key.strip().strip("\"'"),
        held=held,
        content=line[len(space) :],
    )


def _names_no_secret(held: str) -> bool:
    """Return whether a value of YAML is only the head of a block, or is filled in later."""
    if _YAML_BLOCK.fullmatch(held):
        return True
    return not held.startswith(("{", "[")) and REFERENCE.search(held) is not None


def _iter_token_places(text: str) -> Iterator[_Span]:
    for number, (start, end) in enumerate(iter_token_spans(text), 1):
        yield _Span(start, end, f"token {number}", whole=False)


def _overlaps(found: list[_Span], span: _Span) -> bool:
    """Return whether a span overlaps one of those found, which are in order."""
    place = bisect_left(found, span.end, key=lambda one: one.start) - 1
    return place >= 0 and found[place].end > span.start
