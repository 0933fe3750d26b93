"""Events of an answer while it streams, as Agently 4.0.7 reports them.

Python API for programs that are written for these events; no agent uses it::

    stream = Snapshots({"reply": (str,), "tags": [(str,)]})   # the output grammar
    for piece in pieces:
        for change in stream.feed(piece):
            print(change.path, change.event_type, change.delta)
    for change in stream.finish():
        ...

Each piece parses the whole text again and compares the result with the one before, so the cost
grows with the square of the answer. A field counts as done when a later one begins.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal, get_args, get_origin

from pydantic import JsonValue

from orchestrator.extensions.agently.upstream import find_answer_block
from thinker.answers.json5 import AnswerSyntaxError, parse_json5
from thinker.answers.json_blocks import close_open_json
from thinker.formats.prompts.problem import format_path

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Change:
    """A value that is new or has grown (``delta``), or that counts as complete (``done``)."""

    path: str
    event_type: Literal["delta", "done"]
    value: JsonValue
    delta: JsonValue = None

    @property
    def is_complete(self) -> bool:
        return self.event_type == "done"


@dataclass
class Snapshots:
    """Compares the states of one stream; ``schema`` is in the output grammar."""

    schema: Mapping[str, object]
    _text: str = ""
    _current: JsonValue = field(default_factory=dict)
    _done: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._order = {path: i for i, path in enumerate(_walk_schema_paths(self.schema, ""))}

    def feed(self, piece: str) -> tuple[Change, ...]:
        self._text += piece
        located = find_answer_block(close_open_json(self._text), tuple(self.schema))
        try:
            value = parse_json5(located or "")
        except AnswerSyntaxError:
            return ()
        previous, self._current = self._current, value
        changes = self._diff_values(self._current, previous, ())
        # In upstream a delta that is not text ends the events of its piece.
        return tuple(takewhile(lambda change: isinstance(change.delta, str | None), changes))

    def finish(self) -> tuple[Change, ...]:
        """Return ``done`` for everything that is not done yet, inner values first."""
        changes = [
            Change(format_path(place), "done", value)
            for place, value in _walk_inner_first(self._current, ())
            if format_path(place) not in self._done
        ]
        self._done |= {change.path for change in changes}
        return tuple(changes)

    def _diff_values(self, now: JsonValue, before: JsonValue, place: Place) -> Iterator[Change]:
        if isinstance(now, dict | list):
            old = dict(_iter_items(before)) if type(before) is type(now) else {}
            for step, value in _iter_items(now):
                yield from self._diff_values(value, old.get(step), (*place, step))
        elif now not in (None, "", before):
            longer = isinstance(now, str) and isinstance(before, str) and now.startswith(before)
            delta = now[len(before) :] if longer else now  # type: ignore[index, arg-type]  # both text
            yield Change(format_path(place), "delta", now, delta)
        path = format_path(place)
        if path and now is not None and now == before and self._is_passed(path, now):
            self._done.add(path)
            yield Change(path, "done", now)

    def _is_passed(self, path: str, value: JsonValue) -> bool:
        """Whether a path that comes later in the schema has begun."""
        if path in self._done:
            return False
        begun = [format_path(place) for place, _ in _walk_inner_first(self._current, ())]
        known = [other for other in begun if other in self._order]
        furthest = max(known, key=self._order.__getitem__, default=None)
        if furthest is not None and self._is_before(path, furthest):
            return True
        scalar = not isinstance(value, dict | list)
        return scalar and any(other and self._is_before(path, other) for other in begun)

    def _is_before(self, one: str, other: str) -> bool:
        if one in self._order and other in self._order:
            return self._order[one] < self._order[other]
        return len(one) < len(other) or one < other  # items of lists are not in the schema


def _walk_inner_first(value: JsonValue, place: Place) -> Iterator[tuple[Place, JsonValue]]:
    """Yield every place in a value except the root, with the value there."""
    for step, item in _iter_items(value):
        yield from _walk_inner_first(item, (*place, step))
    if place:
        yield place, value


def _iter_items(value: JsonValue) -> Iterable[tuple[str | int, JsonValue]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _walk_schema_paths(schema: object, path: str) -> Iterator[str]:
    """Yield the paths of a schema in the order in which their values end."""
    if isinstance(schema, tuple) and schema:
        yield from _walk_schema_paths(schema[0], path)
        return
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            yield from _walk_schema_paths(value, f"{path}.{key}" if path else str(key))
    items = get_args(schema)[:1] if get_origin(schema) is list else schema
    if isinstance(items, Sequence) and not isinstance(items, str):
        for item in items:
            yield from _walk_schema_paths(item, f"{path}[*]")
    yield path
