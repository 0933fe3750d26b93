"""Arguments and results of tool calls as a person reads them: rows, texts, lists and differences.

What decides whether a call is harmless stands first: who gets something, where, how much.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType

import htpy as h
import orjson
from pydantic import JsonValue

from orchestrator import chat_texts
from orchestrator.chat_texts import Sources
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.vocabulary import render_cut_note, render_diff
from thinker.protocol.messages import ToolSpec

MAX_TEXT = 65_536  # characters of one text that are shown
MAX_DEPTH = 6  # of nested rows; deeper values are JSON
MAX_LEVELS = 200  # of JSON that is parsed; orjson can write 254
MAX_ROWS = 200  # of one list or object
SHORT = 120  # characters of a text that stands on its row
# Words in the names of arguments that say where something goes and what it costs, and then what it
# is about. Earlier words stand higher.
PLACES = (
    *("to", "recipient", "recipients", "cc", "bcc", "account", "iban", "amount", "price", "total"),
    *("usd", "eur", "currency", "url", "uri", "host", "address", "chat", "channel", "command"),
    *("cmd", "path", "file", "filename", "directory", "folder", "source", "destination"),
)
SUBJECTS = ("subject", "title", "name", "query", "date", "time", "id")
# Arguments that hold the text before and after an edit.
EDITS = (
    *(("old_string", "new_string"), ("old_text", "new_text"), ("oldText", "newText")),
    *(("old_str", "new_str"), ("old", "new"), ("before", "after"), ("search", "replace")),
    ("find", "replace"),
)
NO_SOURCES: Sources = MappingProxyType({})
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
# The content in a stored result, which may be cut in the middle.
_CONTENT = re.compile(r'"content":"((?:[^"\\]|\\.)*)', re.DOTALL)
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?$")


def render_arguments(
    arguments: str, spec: ToolSpec | None = None, sources: Sources = NO_SOURCES
) -> h.Node:
    """Render the arguments of a call, which are JSON; ``spec`` explains their names.

    ``sources`` tell where values are from; those that decide stand first. Text that is no JSON, or
    JSON that was cut, is shown as it is.
    """
    value = _parse_call_json(arguments)
    if not isinstance(value, dict):
        return _render_text(arguments)
    return (
        _render_rows(value, _describe_names(spec), sources=sources)
        if value
        else h.p(class_="soft")["No details."]
    )


def render_result(stored: str) -> h.Node:
    """Render the result of a call as the journal keeps it: the text that the model was given."""
    content = find_result_text(stored)
    value = _parse_call_json(content)
    return (
        _render_value(value, 1)
        if isinstance(value, dict | list) and value
        else _render_text(content)
    )


def find_result_text(stored: str) -> str:
    """Return the text in a stored result, also of one whose JSON was cut."""
    value = _parse_call_json(stored)
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        return str(value["content"])
    found = _CONTENT.search(stored) if stored.startswith('{"') else None
    if found is None:
        return stored
    return str(_parse_call_json(f'"{_HALF_ESCAPE.sub("", found[1])}"') or stored)


def summarize_arguments(arguments: str, limit: int = 60) -> str:
    """Return the first short arguments on one line: ``bob@example.org · The offer``."""
    value = _parse_call_json(arguments)
    if not isinstance(value, dict):
        return shorten_text(arguments, limit)
    told = (_format_scalar(one) for _, one in _sort_rows(value) if not isinstance(one, dict | list))
    return shorten_text(" · ".join(filter(None, told)), limit)


def _render_rows(
    values: Mapping[str, JsonValue],
    about: Mapping[str, str] = {},
    depth: int = 1,
    sources: Sources = NO_SOURCES,
) -> h.Element:
    order = chat_texts.sort_deciding_first(sources, (name for name, _ in _sort_rows(values)))
    rows = [(name, values[name]) for name in order]
    edit = next(
        (pair for pair in EDITS if all(isinstance(values.get(one), str) for one in pair)), ()
    )
    return h.dl(class_="values")[
        (
            [
                h.dt(title=about.get(name))[show_hidden_characters(name)],
                h.dd(class_="first" if _rank_name(name) < len(PLACES) else None)[
                    _render_value(value, depth), _render_source(sources, name)
                ],
            ]
            for name, value in rows[:MAX_ROWS]
            if name not in edit
        ),
        [h.dt["change"], h.dd[render_diff(*(str(values[one]) for one in edit))]] if edit else None,
        [h.dt, h.dd[render_cut_note(MAX_ROWS, len(rows), "values")]]
        if len(rows) > MAX_ROWS
        else None,
    ]


def _render_source(sources: Sources, name: str) -> h.Node:
    """Render a small label that says where a value is from."""
    mark = chat_texts.mark_source(sources, name).strip(" ()")
    return [" ", h.small(class_="origin")[strip_terminal_codes(mark)]] if mark else None


def _render_value(value: JsonValue, depth: int) -> h.Node:
    if isinstance(value, str) and (len(value) > SHORT or "\n" in value.strip()):
        return _render_text(value)
    if not isinstance(value, dict | list):
        return _format_scalar(value) or h.span(class_="soft")["empty"]
    if not value:
        return h.span(class_="soft")["empty"]
    if depth >= MAX_DEPTH:
        return _render_text(orjson.dumps(value).decode())
    if isinstance(value, dict):
        return _render_rows(value, depth=depth + 1)
    return _render_list(value, depth)


def _render_list(values: Sequence[JsonValue], depth: int) -> h.Node:
    if all(not isinstance(one, dict | list) for one in values) and len(values) <= MAX_ROWS:
        texts = [_format_scalar(one) for one in values]
        if sum(map(len, texts)) <= SHORT and not any("\n" in text for text in texts):
            return ", ".join(texts)
    return h.ol(class_="values-list")[
        (h.li[_render_value(one, depth + 1)] for one in values[:MAX_ROWS]),
        h.li[render_cut_note(MAX_ROWS, len(values), "entries")] if len(values) > MAX_ROWS else None,
    ]


def _render_text(text: str) -> h.Element:
    """Render a text with its line breaks."""
    return h.div(class_="text")[
        strip_terminal_codes(text[:MAX_TEXT]), render_cut_note(MAX_TEXT, len(text))
    ]


def _format_scalar(value: JsonValue) -> str:
    if isinstance(value, str):
        return strip_terminal_codes(value)
    return (
        {True: "yes", False: "no", None: "nothing"}[value]
        if value is None or isinstance(value, bool)
        else str(value)
    )


def _sort_rows(values: Mapping[str, JsonValue]) -> list[tuple[str, JsonValue]]:
    """Return names with values: places and amounts first, long texts and nested values last."""
    return sorted(values.items(), key=lambda row: (_is_long(row[1]), _rank_name(row[0])))


def _is_long(value: JsonValue) -> bool:
    return isinstance(value, dict) or (isinstance(value, str) and len(value) > SHORT)


def _rank_name(name: str) -> int:
    known = (*PLACES, *SUBJECTS)
    words = (word.lower() for word in _WORDS.findall(name[:SHORT]))
    return min((known.index(word) for word in words if word in known), default=len(known))


def _describe_names(spec: ToolSpec | None) -> dict[str, str]:
    """Return the descriptions of a tool's arguments by their names."""
    fields = spec.parameters.get("properties") if spec else None
    return dict(_iter_descriptions(fields.items())) if isinstance(fields, dict) else {}


def _iter_descriptions(fields: Iterable[tuple[str, JsonValue]]) -> Iterator[tuple[str, str]]:
    for name, schema in fields:
        if isinstance(schema, dict) and isinstance(about := schema.get("description"), str):
            yield name, shorten_text(about, 200)


def _parse_call_json(text: str) -> JsonValue:
    """Parse JSON; None for text that is not JSON, or has more levels than orjson can write."""
    steps = (1 if char in "{[" else -1 for char in text if char in "{[]}")
    if text.count("{") + text.count("[") > MAX_LEVELS < max(accumulate(steps)):
        return None
    try:
        return orjson.loads(text)  # type: ignore[no-any-return]  # it is JSON
    except orjson.JSONDecodeError:
        return None
