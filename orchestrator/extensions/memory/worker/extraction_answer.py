"""Read a model's answer to an extraction: facts, changes of known facts, notes.

Small models write variants of what was asked for, so the reading is liberal: missing fields,
strings for numbers, other names of fields, prose around the JSON. What has no clear meaning is left
out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from pydantic import JsonValue, ValidationError

from orchestrator.extensions.memory.memory_requests import (
    MAX_LABEL,
    MAX_NOTE,
    ExtractedFact,
    ExtractedNote,
)
from thinker import jsontext
from thinker.protocol.messages import JsonObject

MIN_CONFIDENCE = 0.7  # of a fact that is kept
MAX_FACTS = 5  # new facts and changes of an answer, as the template says
MAX_NOTES = 3  # the same
MAX_ITEMS = 100  # of an answer that are looked at

Kind: TypeAlias = Literal["add", "replace", "end", "same"]
KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("add", "new", "create", "insert", "store", "remember"), "add"),
    **dict.fromkeys(("replace", "replaces", "update", "correct", "modify"), "replace"),
    **dict.fromkeys(("end", "ends", "close", "delete", "remove", "expire"), "end"),
    **dict.fromkeys(("same", "noop", "none", "keep", "confirm", "skip"), "same"),
}
LISTS = ("facts", "changes", "operations", "actions", "memory", "memories")
CHANGE = ("do", "op", "operation", "action", "event", "change")
TARGET = ("number", "target", "known", "id", "fact_id", "old", "of")
TEXT = ("fact", "text", "sentence", "statement", "content", "memory")
NOTE = ("note", *TEXT)
DAY = ("date", "day", "since", "when")
WORDS = {"high": 0.9, "medium": 0.5, "low": 0.3}  # for a confidence
WORD, NUMBER = re.compile(r"[a-z]+"), re.compile(r"\d{1,18}")
BARE_NUMBER = re.compile(r"\s*#?\d{1,18}\s*")
YEARS = range(1900, 2200)  # of dates that are taken for real ones
DATE = re.compile(r"\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?!\d)")


class AnswerContext(NamedTuple):
    """What an answer may refer to: ids of known facts, and of messages of the user.

    Sentences of the ``template`` are not taken for facts; dates are those of ``zone``.
    """

    template: str
    zone: ZoneInfo
    known: frozenset[int]
    messages: frozenset[int]


class ParsedAnswer(NamedTuple):
    """The usable parts of an answer, and the numbers in it that no known fact has."""

    facts: tuple[ExtractedFact, ...]
    notes: tuple[ExtractedNote, ...]
    unknown: tuple[int, ...]


class _Change(NamedTuple):
    """What to do, and with which known fact."""

    kind: Kind
    target: int | None


def parse_answer(text: str, context: AnswerContext) -> ParsedAnswer:
    """Return the confident facts and changes and the notes of an answer, without repeats.

    At most `MAX_FACTS` of them are new or change something. A change of an unknown fact is left
    out; a sentence that should replace one is a new fact.

    Raises:
        ValueError: the answer has no list of facts.
    """
    facts, notes = _find_lists(_parse_json(text))
    found: dict[str | int, ExtractedFact] = {}
    unknown: list[int] = []
    for item in facts[:MAX_ITEMS]:
        change = _find_change(item)
        if change is None:
            continue
        if change.target is not None and change.target not in context.known:
            unknown.append(change.target)
            if change.kind != "replace":
                continue
            change = _Change("add", None)
        with suppress(ValidationError, ValueError):
            fact = _build_fact(item, change, context)
            found.setdefault(fact.fact if fact.target is None else fact.target, fact)
    changes = [fact for fact in found.values() if fact.change != "same"][:MAX_FACTS]
    same = [fact for fact in found.values() if fact.change == "same"]
    return ParsedAnswer(
        (*changes, *same), tuple(_parse_notes(notes, context))[:MAX_NOTES], tuple(unknown)
    )


def _parse_json(text: str) -> JsonValue:
    try:
        return jsontext.parse_first_value(text)
    except ValueError:
        repaired = jsontext.repair_json_object(text, jsontext.RepairBudget())
        if repaired is None:
            raise
        return repaired


def _find_lists(answer: JsonValue) -> tuple[list[JsonValue], list[JsonValue]]:
    """Return the facts and the notes of an answer.

    Raises:
        ValueError: it has neither.
    """
    if isinstance(answer, list):
        return answer, []
    if isinstance(answer, dict):
        notes = answer.get("notes") or []
        listed: list[JsonValue] = notes if isinstance(notes, list) else [notes]
        for name in LISTS:
            if isinstance(facts := answer.get(name), list):
                return facts, listed
        if listed:
            return [], listed
        if isinstance(answer.get("fact"), str):
            return [answer], []
    raise ValueError('the answer has no list "facts"')


def _find_change(item: JsonValue) -> _Change | None:
    """Return what an item asks for; None if it is no fact and changes none."""
    if isinstance(item, str):
        kind, target = _parse_change(item)
        return _Change(kind, target) if kind in ("end", "same") and target is not None else None
    if not isinstance(item, dict):
        return None
    kind, target = _parse_change(_find_text(item, CHANGE))
    if kind is None:  # {"replace": 12, "fact": …}
        for name in item.keys() & KINDS.keys():
            if BARE_NUMBER.fullmatch(str(item[name])):
                kind, target = KINDS[name], _parse_number(item[name])
                break
    if kind in (None, "add"):
        return _Change("add", None)
    numbers = (_parse_number(item[name]) for name in TARGET if name in item)
    target = target if target is not None else next((n for n in numbers if n is not None), None)
    if target is None:
        return _Change("add", None) if kind == "replace" else None
    return _Change(kind, target)


def _parse_change(text: str) -> tuple[Kind | None, int | None]:
    """Return what ``replace 12`` asks for, and the number."""
    words, number = WORD.findall(text.lower()), NUMBER.search(text)
    kind = next((KINDS[word] for word in words[:3] if word in KINDS), None)
    return kind, int(number[0]) if number else None


def _build_fact(item: JsonValue, change: _Change, context: AnswerContext) -> ExtractedFact:
    """Return an item as a fact.

    Raises:
        ValueError: it is unusable, copied from the template, or not confident enough.
    """
    fields = item if isinstance(item, dict) else {}
    text = _find_text(fields, TEXT)
    needed = change.kind in ("add", "replace")
    if text in context.template if text else needed:
        raise ValueError("there is no fact in it")
    confidence = _parse_confidence(fields.get("confidence"))
    if confidence < MIN_CONFIDENCE:
        raise ValueError("the model is not sure")
    category = _find_text(fields, ("category",)).lower().rstrip("s") or "background"
    slot = _parse_label(fields.get("slot"))
    message = _parse_number(fields.get("message"))
    return ExtractedFact.model_validate(
        {
            "fact": text,
            "category": category,
            "confidence": confidence,
            "change": change.kind,
            "target": change.target,
            "subject": (_parse_label(fields.get("subject")) or "user") if slot else "",
            "slot": slot,
            "since": _parse_day(fields.get("since"), context.zone),
            "said_in": message if message in context.messages else None,
        }
    )


def _parse_notes(listed: Sequence[JsonValue], context: AnswerContext) -> Iterator[ExtractedNote]:
    seen = set()
    for item in listed[:MAX_ITEMS]:
        fields: JsonObject = item if isinstance(item, dict) else {"note": item, "date": item}
        text = _find_text(fields, NOTE)
        if text and not isinstance(item, dict) and (found := DATE.match(text)):
            text = text[found.end() :].lstrip(" :,-\N{EN DASH}")
        if len(text) > MAX_NOTE:
            text = f"{text[: MAX_NOTE - 1].rstrip()}…"
        if text and text not in context.template and text not in seen:
            seen.add(text)
            days = (_parse_day(fields.get(name), context.zone) for name in DAY)
            yield ExtractedNote(text=text, day=next((day for day in days if day is not None), None))


def _find_text(fields: JsonObject, names: Iterable[str]) -> str:
    """Return the first of the fields that is a text, on one line; empty without one."""
    texts = (value for name in names if isinstance(value := fields.get(name), str))
    return next((line for text in texts if (line := " ".join(text.split()))), "")


def _parse_label(value: JsonValue) -> str:
    """Return a subject or slot in its usual form: ``The user`` and ``user`` are one."""
    words = value.lower().split() if isinstance(value, str) else []
    label = " ".join(words[1:] if words[:1] == ["the"] else words)
    return "" if label in ("none", "null") else label[:MAX_LABEL].rstrip()


def _parse_number(value: JsonValue) -> int | None:
    if isinstance(value, str) and (found := NUMBER.search(value)):
        return int(found[0])
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _parse_confidence(value: JsonValue) -> float:
    """Return a confidence; a missing one is just enough, an unusable one is 0.

    Raises:
        ValueError: it is a text without a number.
    """
    if value is None:
        return MIN_CONFIDENCE
    if isinstance(value, str):
        word = value.strip().lower()
        if word in WORDS:
            return WORDS[word]
        return float(word.rstrip("%")) / (100 if word.endswith("%") else 1)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 <= value <= 1 else 0.0


def _parse_day(value: JsonValue, zone: ZoneInfo) -> int | None:
    """Return the start of a date as ``2026-10-05`` or ``2026-10`` in milliseconds, or None."""
    found = DATE.match(str(value)) if isinstance(value, str | int) else None
    if found is None or isinstance(value, bool):
        return None
    year, month, day = (int(part or 1) for part in found.groups())
    with suppress(ValueError):
        if year in YEARS:
            return round(datetime(year, month, day, tzinfo=zone).timestamp() * 1000)
    return None
