"""Find the verbs of a sentence by which the speaker says that something was done.

A sentence is read clause by clause. A clause counts if a pattern of its language matches: the
speaker did it (``active``, or ``heir`` after such a clause), it was done (``passive``, ``stative``),
or a participle alone says so (``bare``). What comes before the verb can take that back: a negation,
a condition, a modal verb, another subject, or a report of what others said.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from orchestrator.extensions.receipts.judging.languages import Language
from orchestrator.extensions.receipts.judging.tagging import BREAKS, Token

How: TypeAlias = Literal["active", "passive", "stative", "bare"]
QUESTION = ("?", "？", "吗", "呢")  # noqa: RUF001 - the mark of Chinese
TAKEN_BACK = frozenset("NCR")
DOUBTED = frozenset("NMCRYWI")
LIGHT = frozenset("UAJws#D")
MAX_LIGHT = 6  # words of an opening such as "Good news"
MAX_LABEL = 4  # words of a label such as "**Email:**"


class FoundVerb(NamedTuple):
    """A verb that reports an effect, by its place among the tokens of its sentence."""

    place: int
    how: How
    clause: tuple[int, int]


class _Reading:
    """What the clauses so far say about those that follow."""

    def __init__(self) -> None:
        self.mode = ""  # "speaker" or "passive": what a clause without a subject goes on with
        self.taken_back = False
        self.doubted = False
        self.opening = True  # nothing but interjections and labels so far

    def begin_contrast(self) -> None:
        """Let a word such as "but" end what was negated or reported."""
        self.taken_back = self.doubted = False


def find_verbs(tokens: Sequence[Token], language: Language, sentence: str) -> list[FoundVerb]:
    """Return the verbs of a sentence that report an effect."""
    tags = "".join(token.tag for token in tokens)
    if "T" in tags:
        return []
    asks = sentence.rstrip(" )*\"'”").endswith(QUESTION)
    clauses = _split_clauses(tags)
    found: list[FoundVerb] = []
    reading = _Reading()
    for number, (start, end) in enumerate(clauses):
        for verb in _read_clause(tags, (start, end), language, reading):
            if not asks or (verb.how == "active" and number < len(clauses) - 1):
                found.append(verb)
    return found


def _split_clauses(tags: str) -> list[tuple[int, int]]:
    bounds = [0, *(place for place, tag in enumerate(tags) if tag in BREAKS and place), len(tags)]
    return [(start, end) for start, end in pairwise(bounds) if end > start]


def _read_clause(
    tags: str, bounds: tuple[int, int], language: Language, reading: _Reading
) -> Iterator[FoundVerb]:
    start, end = bounds
    clause = tags[start:end]
    if clause.startswith("K"):
        reading.begin_contrast()
    labelled = tags[end : end + 1] == ","
    how, verb = _match_clause(clause, language, reading)
    if verb is not None:
        place = verb.start("v")
        back = _is_taken_back(clause, verb, how, reading)
        if not back and not (how == "bare" and labelled and place == len(clause) - 1 == 0):
            yield FoundVerb(start + place, "active" if how == "heir" else how, bounds)
        reading.mode = "speaker" if how in {"active", "heir"} else "passive"
        reading.taken_back = back
    elif "I" in clause:
        reading.mode, reading.taken_back = "speaker", bool(TAKEN_BACK & set(clause)) or "M" in clause
    elif "Y" in clause or "B" in clause:
        reading.mode = ""
    reading.doubted |= bool(frozenset("CR") & set(clause))
    light = set(clause) <= LIGHT | {","} and len(clause) <= MAX_LIGHT
    label = labelled and len(clause) <= MAX_LABEL and not set(clause) & set("PFXIYBM")
    reading.opening = reading.opening and (light or label)


def _match_clause(
    clause: str, language: Language, reading: _Reading
) -> tuple[How | Literal["heir"], re.Match[str] | None]:
    order: tuple[How | Literal["heir"], ...] = ("active", "passive", "stative", "bare")
    for how in order:
        if how == "bare":
            if reading.mode == "speaker":
                how = "heir"
            elif not reading.opening and reading.mode != "passive":
                continue
        for pattern in language.patterns.get(how, ()):
            found = pattern.search(clause.lstrip(",&") if False else clause)
            if found is not None:
                return how, found
    return "bare", None


def _is_taken_back(
    clause: str, verb: re.Match[str], how: How | Literal["heir"], reading: _Reading
) -> bool:
    before, inside = clause[: verb.start()], clause[verb.start() : verb.start("v")]
    after = clause[verb.start("v") + 1 :]
    if "N" in after[:3] or "E" in after[:4] and how not in {"active", "heir"}:
        return True
    if how == "heir":
        return reading.taken_back or bool(frozenset("NCRM") & set(before + inside))
    if how == "active":
        return bool(TAKEN_BACK & set(before + inside)) or bool(frozenset("MY") & set(inside))
    return reading.doubted or bool(DOUBTED & set(before + inside))
