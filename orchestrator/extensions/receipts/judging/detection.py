"""Find the verbs of a sentence by which the speaker says that something was done.

A sentence is read clause by clause. A clause counts if a pattern of its language matches: the
speaker did it (``active``, or ``heir`` after such a clause), it was done (``passive``), or a
participle alone says so (``bare``). What comes before the verb can take that back: a negation, a
condition, a modal verb, another subject, or a report of what others said.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from orchestrator.extensions.receipts.judging.languages import Language
from orchestrator.extensions.receipts.judging.tagging import BREAKS, Token

How: TypeAlias = Literal["active", "heir", "passive", "bare"]
HOW: tuple[How, ...] = ("active", "heir", "passive", "bare")
QUESTION = ("?", "？", "吗", "呢")  # noqa: RUF001 - the marks of Chinese
TAKEN_BACK = frozenset("NCR")
DOUBTED = frozenset("NMCRYWI")
LIGHT = frozenset("UAJws#D,")
MAX_LIGHT = 6  # words of an opening such as "Good news"
MAX_LABEL = 4  # words of a label such as "**Email:**"
NEAR = 3  # words after a verb among which a negation belongs to it
MAX_VERBS = 4  # places of a clause that are looked at


class FoundVerb(NamedTuple):
    """A verb that may report an effect; ``places`` are those of its clause, the likeliest first."""

    places: tuple[int, ...]
    how: How
    clause: tuple[int, int]


class _Reading:
    """What the clauses so far say about those that follow.

    ``mode`` is what a clause without a subject goes on with; ``reports``: the clause before was a
    claim; ``opening``: there was nothing but interjections and labels so far.
    """

    def __init__(self) -> None:
        self.mode: Literal["", "speaker", "passive"] = ""
        self.reports = False
        self.taken_back = False
        self.doubted = False
        self.opening = True


def find_verbs(tokens: Sequence[Token], language: Language, sentence: str) -> list[FoundVerb]:
    """Return the verbs of a sentence that may report an effect, one a clause."""
    tags = "".join(token.tag for token in tokens)
    if "T" in tags:
        return []
    asks = sentence.rstrip(" )*\"'”").endswith(QUESTION)
    clauses = _split_clauses(tags)
    reading = _Reading()
    found: list[FoundVerb] = []
    for bounds in clauses:
        verb = _read_clause(tags, bounds, tokens, language, reading)
        if verb is not None and (verb.how in {"active", "heir"} or "R" not in tags):
            found.append(verb)
    if asks:
        found = [
            verb for verb in found if verb.how in {"active", "heir"} and verb.clause != clauses[-1]
        ]
    return found


def _split_clauses(tags: str) -> list[tuple[int, int]]:
    bounds = [0, *(place for place, tag in enumerate(tags) if tag in BREAKS and place), len(tags)]
    return [(start, end) for start, end in pairwise(bounds) if end > start]


def _read_clause(
    tags: str,
    bounds: tuple[int, int],
    tokens: Sequence[Token],
    language: Language,
    reading: _Reading,
) -> FoundVerb | None:
    start, end = bounds
    clause = tags[start:end]
    if clause.startswith("K"):
        reading.taken_back = reading.doubted = False
    labelled = tags[end : end + 1] == "," and tokens[end].text == ":"
    how, matches = _match_clause(clause, language, reading)
    found = None
    if how is not None:
        standing = [one for one in matches if not _is_taken_back(clause, one, how, reading)]
        lone = how == "bare" and labelled and len(clause.strip("UAJ,")) == 1
        if standing and not lone:
            places = dict.fromkeys(start + one.start("v") for one in standing)
            found = FoundVerb(tuple(places)[:MAX_VERBS], how, bounds)
        reading.mode = "speaker" if how in {"active", "heir"} else "passive"
        reading.taken_back = not standing
        reading.reports = bool(standing)
    else:
        _read_subject(clause, tokens[end - 1], language, reading)
    reading.doubted |= bool(frozenset("CR") & set(clause))
    light = set(clause) <= LIGHT and len(clause) <= MAX_LIGHT
    label = labelled and len(clause) <= MAX_LABEL and not set(clause) & set("FXIYBM")
    reading.opening = reading.opening and (light or label)
    return found


def _read_subject(clause: str, last: Token, language: Language, reading: _Reading) -> None:
    """Let a clause that reports nothing say who the next one speaks of."""
    if "I" in clause or "H" in clause:
        complete = language.participle_like.search(last.text) is not None
        reading.mode = "speaker"
        reading.reports = bool(set("GH") & set(clause)) and not complete
        reading.taken_back = bool(frozenset("NCM") & set(clause))
    elif "Y" in clause or "B" in clause:
        reading.mode = ""


def _match_clause(
    clause: str, language: Language, reading: _Reading
) -> tuple[How | None, list[re.Match[str]]]:
    """Return the first way in which a clause reports something, and its matches."""
    for how in HOW:
        if how == "heir" and (
            reading.mode != "speaker" or (clause[0] == "," and not reading.reports)
        ):
            continue
        if how == "bare" and not (reading.opening or reading.mode == "passive"):
            continue
        matches = [
            found
            for pattern in language.patterns.get(how, ())
            for found in _iter_matches(pattern, clause)
        ]
        if matches:
            return how, matches
    return None, []


def _iter_matches(pattern: re.Pattern[str], clause: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern, each with another verb."""
    found = pattern.search(clause)
    while found is not None:
        yield found
        found = pattern.search(clause, found.start("v") + 1)


def _is_taken_back(clause: str, verb: re.Match[str], how: How, reading: _Reading) -> bool:
    before, inside = clause[: verb.start()], clause[verb.start() : verb.start("v")]
    after = clause[verb.start("v") + 1 :]
    if "N" in after[:NEAR] or "Z" in after[: NEAR + 2]:
        return True
    if how == "active":
        return bool(TAKEN_BACK & set(before + inside)) or bool(frozenset("MY") & set(inside))
    if how == "heir":
        return reading.taken_back or bool((TAKEN_BACK | {"M"}) & set(before + inside + after[:2]))
    by_others = "E" in inside.rpartition("B")[2] or "E" in before or "E" in after[: NEAR + 1]
    doubts = bool(DOUBTED & set(before + inside)) or "M" in after[:2]
    return reading.doubted or by_others or doubts
