"""What a question asks for: its telling words, the time it names, and forms of its words."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from orchestrator.journal.memory.fulltext import (
    MAX_TERMS,
    SPACELESS,
    split_terms,
    take_first_terms,
)
from orchestrator.journal.memory.stop_words import drop_stop_words
from thinker.formats.word_lists import parse_words

SHORTEST_STEM = 4  # letters
LETTERS = range(2, 40)  # of a word that has other forms
ENDING = 3  # letters that an ending has at most
MONTHS = (  # as `split_terms` has them
    "january jan januar janvier enero gennaio janeiro januari ocak styczen stycznia января январь",
    "february feb februar fevrier febrero febbraio fevereiro februari subat luty lutego февраль",
    "march mar marz mars marzo marco maart mart marzec marca март марта",
    "april apr avril abril aprile nisan kwiecien kwietnia апрель апреля",
    "may mai mayo maggio maio mei mayis maj maja май мая",
    "june jun juni juin junio giugno junho haziran czerwiec czerwca июнь июня",
    "july jul juli juillet julio luglio julho temmuz lipiec lipca июль июля",
    "august aug aout agosto augustus agustos sierpien sierpnia август августа",
    "september sep sept septembre septiembre settembre setembro eylul wrzesien wrzesnia сентябрь",
    "october oct oktober octobre octubre ottobre outubro ekim pazdziernik октябрь октября",
    "november nov novembre noviembre novembro kasim listopad listopada ноябрь ноября",
    "december dec dezember decembre diciembre dicembre dezembro aralik grudzien grudnia декабрь",
)
MONTH_NUMBERS = {name: month for month, names in enumerate(MONTHS, 1) for name in names.split()}
FIRST_PERSON = frozenset(
    parse_words(
        "i, me, my, mine, ich, mich, mir, mein, meine, je, moi, mon, ma, mes, yo, mi, mis, io, mio,"
        " mia, eu, meu, minha, ik, mij, mijn, benim, bana, mnie, moj, moja, я, мне, меня, мой, моя"
    )
)
YEARS, DAYS = range(1970, 2100), range(1, 32)
DIGITS = 4  # of a number that may be a day or a year, at most


class NamedTime(NamedTuple):
    """The time that a question names; a part that it leaves open is empty."""

    years: frozenset[int]
    months: frozenset[int]
    days: frozenset[int]

    def includes(self, moment: datetime) -> bool:
        """Return whether a moment lies in the time; False if the question names none."""
        if not (self.years or self.months):
            return False
        return (
            (not self.years or moment.year in self.years)
            and (not self.months or moment.month in self.months)
            and (not self.days or moment.day in self.days)
        )


class SearchQuestion(NamedTuple):
    """The terms of a query; ``words`` are all of them, ``telling`` those without stop words."""

    words: frozenset[str]
    telling: list[str]
    time: NamedTime
    query: str


def read_question(query: str) -> SearchQuestion:
    """Return what a query asks for; without terms if it has no words."""
    terms = take_first_terms(split_terms(query), MAX_TERMS)
    runs = SPACELESS.findall(query.casefold())
    ends = {run[-1] for run in runs if len(run) > 1} - {run for run in runs if len(run) == 1}
    terms = [term for term in terms if term not in ends]
    telling = list(drop_stop_words(terms, query))
    return SearchQuestion(frozenset(terms), telling, _read_time(terms), query)


def list_forms(term: str) -> list[str]:
    """Return other words that a term may stand for; a beginning of words ends with ``*``.

    They are its own parts (Musik and Schule in Musikschule) and words with another ending (Häuser).
    """
    if SPACELESS.match(term):
        return [f"{term}*"]
    size = len(term)
    if term.isdigit() or size not in LETTERS:
        return []
    shortest = 2 if size <= SHORTEST_STEM + 1 else SHORTEST_STEM - 1
    parts = [term[:end] for end in range(shortest, size)]
    parts += [term[start:] for start in range(SHORTEST_STEM - 1, size - SHORTEST_STEM)]
    stem = term[: max(SHORTEST_STEM, size - ENDING) if size > SHORTEST_STEM else size - 1]
    return [*parts, f"{term}*", *([f"{stem}*"] if len(stem) >= SHORTEST_STEM - 1 else [])]


def _read_time(terms: Sequence[str]) -> NamedTime:
    digits = (term for term in terms if term.isascii() and term.isdigit() and len(term) <= DIGITS)
    numbers = [int(term) for term in digits]
    months = frozenset(MONTH_NUMBERS[term] for term in terms if term in MONTH_NUMBERS)
    days = (number for number in numbers if months and number in DAYS)
    return NamedTime(frozenset(one for one in numbers if one in YEARS), months, frozenset(days))
