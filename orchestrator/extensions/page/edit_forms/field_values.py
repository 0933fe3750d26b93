"""Values of a form's fields as people write them, and the changes that they ask for."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from pydantic import JsonValue

from orchestrator.control.editing import ValueChange
from orchestrator.extensions.page.edit_forms import agents_schema
from orchestrator.extensions.page.edit_forms.agents_schema import PartPath
from orchestrator.extensions.page.edit_forms.form_fields import FieldKind, FormField
from thinker.protocol.messages import JsonObject

YES, NO = "yes", "no"


class FieldValueError(ValueError):
    """What was written in a field is no value of its kind; the message says what to write."""


def format_value(field: FormField, value: JsonValue) -> str:
    """Return a value as it stands in the control of its field; empty for a missing one."""
    if value in (None, [], {}):
        return ""
    if isinstance(value, bool) and field.kind == "switch":
        return YES if value else NO
    if field.kind == "words" and isinstance(value, list):
        return "\n".join(map(str, value))
    if field.kind == "pairs" and isinstance(value, dict):
        return "\n".join(f"{name}={one}" for name, one in value.items())
    if field.kind == "json" or not isinstance(value, str | int | float):
        return json.dumps(value, indent=2, ensure_ascii=False)
    return str(value)


def parse_value(field: FormField, text: str, before: JsonValue = None) -> JsonValue:
    """Return the value that a person wrote; None for an empty field, which has its usual value.

    Raises:
        FieldValueError: it is no such value.
    """
    text = text.replace("\r\n", "\n")
    if not text.strip():
        return None
    parse = _PARSERS.get(field.kind)
    return text if parse is None else parse(field, text, before)


def read_form(
    fields: Iterable[FormField], posted: Mapping[str, str], present: JsonValue
) -> tuple[dict[tuple[str, ...], JsonValue], dict[str, str]]:
    """Return the values that differ from the present ones, and the problems by control.

    A value of None stands for one that the file should not have.
    """
    changed: dict[tuple[str, ...], JsonValue] = {}
    problems: dict[str, str] = {}
    for field in fields:
        if field.name not in posted:
            continue
        before = agents_schema.find_value(present, field.path)
        if _normalize(posted[field.name]) == _normalize(format_value(field, before)):
            continue
        try:
            changed[field.path] = parse_value(field, posted[field.name], before)
        except FieldValueError as error:
            problems[field.name] = str(error)
    for field in fields:
        if field.required and not posted.get(field.name, "").strip():
            problems[field.name] = "this is needed"
    return changed, problems


def list_value_changes(
    at: PartPath, present: JsonValue, changed: Mapping[tuple[str, ...], JsonValue]
) -> list[ValueChange]:
    """Return the changes of the file; a part that does not exist yet is added as a whole."""
    if not isinstance(present, dict):
        return [ValueChange(path=at, value=build_part(changed))]
    groups = [path[0] for path in changed if len(path) > 1]
    whole = {name for name in groups if not _keeps_parts(present, name, changed)}
    changes = []
    for path, value in changed.items():
        if path[0] not in whole:
            changes.append(ValueChange(path=(*at, *path), value=value, remove=value is None))
    for name in sorted(whole):
        old = present.get(name)
        part = build_part(
            {path[1:]: value for path, value in changed.items() if path[0] == name and path[1:]},
            old if isinstance(old, dict) else None,
        )
        if part or name in present:
            changes.append(ValueChange(path=(*at, name), value=part or None, remove=not part))
    return changes


def build_part(
    changed: Mapping[tuple[str, ...], JsonValue], before: JsonObject | None = None
) -> JsonObject:
    """Return a part with these values, without empty parts of its own."""
    found: JsonObject = json.loads(json.dumps(before or {}))
    for path, value in changed.items():
        place = found
        for name in path[:-1]:
            inner = place.get(name)
            if not isinstance(inner, dict):
                inner = place[name] = {}
            place = inner
        if value is None:
            place.pop(path[-1], None)
        else:
            place[path[-1]] = value
    return {name: value for name, value in found.items() if value != {}}


def _keeps_parts(
    present: JsonObject, name: str, changed: Mapping[tuple[str, ...], JsonValue]
) -> bool:
    """Return whether a part of a part stays, so that each of its values can be changed alone."""
    old = present.get(name)
    if not isinstance(old, dict):
        return False
    removed = {path[1:] for path, value in changed.items() if path[0] == name and value is None}
    added = any(path[0] == name and value is not None for path, value in changed.items())
    return added or any((key,) not in removed for key in old)


def _parse_amount(field: FormField, text: str, before: JsonValue) -> JsonValue:
    del field, before
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        if math.isfinite(found := float(text)):
            return found
    raise FieldValueError("write a number, such as 5 or 0.5")


def _parse_switch(field: FormField, text: str, before: JsonValue) -> JsonValue:
    del field, before
    return text.strip() == YES


def _parse_words(field: FormField, text: str, before: JsonValue) -> JsonValue:
    del field
    numbers = {str(one): one for one in before} if isinstance(before, list) else {}
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    found: Sequence[JsonValue] = [numbers.get(line, line) for line in lines]
    return list(found)


def _parse_pairs(field: FormField, text: str, before: JsonValue) -> JsonValue:
    del field, before
    return dict(_parse_pair(line) for line in text.split("\n") if line.strip())


def _parse_pair(line: str) -> tuple[str, JsonValue]:
    name, sign, value = line.partition("=")
    if not sign or not name.strip():
        raise FieldValueError(f"write NAME=value on each line; {line.strip()[:60]!r} is not so")
    return name.strip(), value.strip()


def _parse_json_text(field: FormField, text: str, before: JsonValue) -> JsonValue:
    del field, before
    try:
        found: JsonValue = json.loads(text)
    except (RecursionError, ValueError) as error:
        raise FieldValueError(f"this is no JSON: {error}") from None
    return found


def _parse_choice(field: FormField, text: str, before: JsonValue) -> JsonValue:
    del before
    text = text.strip()
    if text in field.choices:
        return text
    if not field.open:
        raise FieldValueError(f"choose one of: {', '.join(field.choices)}")
    return int(text) if text.isdecimal() else text


def _parse_line(field: FormField, text: str, before: JsonValue) -> JsonValue:
    del field
    text = text.strip()
    if "\n" in text:
        raise FieldValueError("write one line")
    return int(text) if isinstance(before, int) and text.lstrip("-").isdecimal() else text


def _normalize(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


_PARSERS: Mapping[FieldKind, Callable[[FormField, str, JsonValue], JsonValue]] = {
    "number": _parse_amount,
    "switch": _parse_switch,
    "words": _parse_words,
    "pairs": _parse_pairs,
    "json": _parse_json_text,
    "choice": _parse_choice,
    "line": _parse_line,
}
