"""The forms in which a value stands in a text: words, addresses, numbers, dates, codes.

Pure and linear. A word never matches inside a longer one, and letters that only look alike do not
match.

Where: are two spellings the same value?
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import chain

_GROUPING = re.compile(r"[\s\-./()]")
_ACCOUNT = re.compile(r"[a-z0-9]{5,40}")
Date = tuple[int, int, int]  # year, 0 if it is not said, month and day
Time = tuple[int, int]
CENTURY = 2000  # of a year that is written with two digits
LONG_WORD = 24  # characters that no word of a language has
MIN_CODE = 5  # characters
MAX_MONTH, MAX_DAY, MAX_HOUR, MAX_MINUTE = 12, 31, 24, 59
MAX_WORD = 300  # characters; a longer word is a code
_GLUE = str.maketrans(dict.fromkeys("\"'`“”„‘’«»()[]{}<>,;|*\\、。，；：！？（）「」『』《》", " "))  # noqa: RUF001 - punctuation of Chinese texts
_ENDS = ".:=-/!?…"
_COLON = re.compile(r":(?![\d/])")
_IDEOGRAPH = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")
_SCHEME = re.compile(r"(?:(?:https?://|mailto:|tel:)(?:www\.)?|www\.)(?=[^/]*\.)")
_NUMBER = re.compile(r"(?<![\w.,])[-+]?(?:[$€£¥]\s?)?(\d[\d.,'_\u00a0\u202f]{0,30})")
_HOST = re.compile(r"(?:[^\s@/?#.]+\.)+[^\W\d_]{2,24}(?:[:/?#].*)?|(?:\d{1,3}\.){3}\d{1,3}.*")
_FILE = re.compile(r"[\w.-]+\.(?:docx?|xlsx?|pptx?|pdf|txt|csv|json|ya?ml|png|jpe?g|gif|html?)")
_DIGITS = re.compile(r"(?<![\w.,])\+?\d(?:[ \-./():]{0,2}\d){5,40}(?!\w)")
_AMOUNT = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d{1,5}[.,]\d+")
_PLAIN = re.compile(
    r"\d{1,4}(?:[-/]?[^\W\d_]{1,8}){1,3}|[^\W\d_]{1,8}[-/]?\d{1,4}|v?\d+(?:\.\d+){1,3}"
)
_MONTHS = (
    "january jan januar enero janvier stycznia|february feb februar febrero février lutego"
    "|march mar märz marzo mars marca|april apr abril avril kwietnia|may mai mayo maja"
    "|june jun juni junio juin czerwca|july jul juli julio juillet lipca"
    "|august aug agosto août sierpnia|september sep sept septiembre septembre września"
    "|october oct oktober okt octubre octobre października"
    "|november nov noviembre novembre listopada"
    "|december dec dezember dez diciembre décembre grudnia"
)
_MONTH = {word: at for at, names in enumerate(_MONTHS.split("|"), 1) for word in names.split()}
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_YEAR = r"(?:[\s,]{1,2}(?:de |del )?(\d{4})(?!\d))?"
_TIME = re.compile(
    r"(?<![\d:.])(\d{1,2})(?:[:h](\d{2})(?::\d{2})?|(?=\s?[ap]\.?m\b|\s?uhr|点))\s?([ap](?=\.?m\b))?"
)


@cache
def _compile_dates() -> re.Pattern[str]:
    """Return what a date looks like; that takes 12 ms to compile, so a start does not."""
    return re.compile(
        r"(?<!\d)(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)"
        r"|(?<!\d)(?P<a>\d{1,2})[-/.](?P<b>\d{1,2})[-/.](?P<c>\d{4}|\d{2}(?!\d))?(?!\d)"
        rf"|(?<!\d)(?P<e>\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?:of |de )?(?P<f>{_NAMES})\b\.?{_YEAR}"
        rf"|\b(?P<h>{_NAMES})\.?\s(?:the )?(?P<i>\d{{1,2}})(?:st|nd|rd|th)?(?!\d){_YEAR}"
        r"|(?:(?P<k>\d{4})年)?(?P<l>\d{1,2})月(?P<n>\d{1,2})[日号]"
    )


def normalize_text(text: str) -> str:
    """Return a text without differences of width, form and case."""
    plain = text.isascii() or unicodedata.is_normalized("NFKC", text)  # which is faster to see
    return (text if plain else unicodedata.normalize("NFKC", text)).lower()


def is_deceptive(value: str) -> bool:
    """Return whether a value has hidden characters, or one of its words letters of two scripts."""
    if value.isascii():
        return not value.replace("\n", "").replace("\t", "").replace("\r", "").isprintable()
    if any(
        unicodedata.category(one) in ("Cf", "Cc", "Co", "Cn")
        for one in value
        if one not in "\n\r\t"
    ):
        return True
    words = re.split(r"[\W\d_]+", unicodedata.normalize("NFKC", value))
    return any(len(set(map(_find_script, word))) > 1 for word in words)


def _find_script(letter: str) -> str:
    if _IDEOGRAPH.match(letter):
        return "CJK"
    return unicodedata.name(letter, "").partition(" ")[0]


def split_words(text: str) -> list[str]:
    """Return the words of a text; an address or a path is one, as is a Chinese character."""
    plain = _COLON.sub(" ", normalize_text(text).translate(_GLUE))
    if not plain.isascii():
        plain = _IDEOGRAPH.sub(r" \1 ", plain)
    return [word for raw in plain.split() if (word := _strip_word(raw))]


def _strip_word(raw: str) -> str:
    if ".." in raw:  # of a path, nothing is left out
        return raw
    word = _SCHEME.sub("", raw.rstrip(_ENDS).lstrip("#@:=-!?"), count=1)
    return word or raw.strip(".:!?…-=#@")


def remove_dates(text: str) -> str:
    """Return a normalized text without its dates and times."""
    dates = _compile_dates()
    undated = dates.sub(lambda found: " " if any(_iter_readings(found)) else found[0], text)
    return _TIME.sub(lambda found: " " if _is_time(found) else found[0], undated)


def _is_time(found: re.Match[str]) -> bool:
    return int(found[1]) <= MAX_HOUR and int(found[2] or 0) <= MAX_MINUTE


def is_date_or_time(value: str) -> bool:
    """Return whether a value is a date, a time or both, and nothing else."""
    rest = remove_dates(normalize_text(value))
    return rest.strip(" tz.:-+0") == "" and rest != normalize_text(value)


def iter_dates(text: str) -> Iterator[Date]:
    """Yield the dates of a normalized text, both readings of ``1/2/2026``."""
    for found in _compile_dates().finditer(text):
        yield from _iter_readings(found)


def _iter_readings(found: re.Match[str]) -> Iterator[Date]:
    numbers = tuple(_MONTH.get(part) or int(part) for part in found.groups("0"))
    y, m, d, a, b, c, e, f, e_year, h, i, h_year, k, month, n = numbers
    c += CENTURY if found["c"] and c < CENTURY else 0
    dates = ((y, m, d), (c, b, a), (c, a, b), (e_year, f, e), (h_year, h, i), (k, month, n))
    yield from (one for one in dates if 0 < one[1] <= MAX_MONTH and 0 < one[2] <= MAX_DAY)


def iter_times(text: str) -> Iterator[Time]:
    """Yield the times of a normalized text in hours and minutes."""
    for hour, minute, half in _TIME.findall(_compile_dates().sub(" ", text)):
        yield int(hour) % 12 + 12 * (half == "p") if half else int(hour), int(minute or 0)


def iter_numbers(text: str) -> Iterator[float]:
    """Yield the numbers of a normalized text, each in the ways it can be read."""
    for found in _NUMBER.finditer(remove_dates(text)):
        digits = re.sub(r"['_\u00a0\u202f]", "", found[1].rstrip(".,'"))
        for group, point in ((",", "."), (".", ",")):
            whole, _, part = digits.partition(point)
            grouped = re.fullmatch(rf"\d{{1,3}}(?:{re.escape(group)}\d{{3}})+|\d+", whole)
            if grouped and (part.isdigit() or not part):
                yield float(f"{whole.replace(group, '')}.{part}")


def iter_codes(text: str) -> Iterator[str]:
    """Yield what identifies something in a text: addresses, links, numbers, codes."""
    plain = normalize_text(text)
    undated = remove_dates(plain)
    yield from (found[0] for found in _DIGITS.finditer(undated) if not _AMOUNT.fullmatch(found[0]))
    yield from filter(is_code, chain(split_words(undated)))


def is_code(word: str) -> bool:
    """Return whether a word is an address, a link or a code of letters and digits."""
    if len(word) > MAX_WORD:
        return True
    if word.isalpha() and len(word) < LONG_WORD:
        return False
    if "@" in word.strip("@") or "://" in word or "xn--" in word or _HOST.fullmatch(word):
        return not _FILE.fullmatch(word)
    if len(word) >= LONG_WORD and re.fullmatch(r"[\w+/=.-]+", word):  # such as base64
        return not re.fullmatch(r"[^\W\d]{1,23}(?:[-/.][^\W\d]{1,23})*", word)
    if len(word) < MIN_CODE or not re.search(r"\d", word) or not re.search(r"[^\W\d_]", word):
        return False
    return not (_PLAIN.fullmatch(word) or _FILE.fullmatch(word))


def remove_grouping(text: str) -> str:
    """Return a text without what groups the characters of numbers."""
    return _GROUPING.sub("", normalize_text(text)).removeprefix("+")


def build_pattern(compact: str) -> re.Pattern[str] | None:
    """Return what finds a number, maybe with letters, however it is grouped; None for others."""
    if not _ACCOUNT.fullmatch(compact) or sum(map(str.isdigit, compact)) < MIN_CODE:
        return None
    return re.compile(r"(?<![\w.@-])(?:\+|00)?" + r"[ \-./()]{0,2}".join(compact) + r"(?![\w@-])")
