"""Decode text in any encoding: as it says itself, as its sender says, or as its letters suggest."""

import codecs
import re
from contextlib import suppress

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark is its beginning
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
SAMPLE = 16 * 1024  # bytes around the first letter outside of ASCII; a guess takes milliseconds
SHORTEST = 3  # bytes of which a guess is worth anything
# Encodings with more letters that replace those of standards, as browsers do.
WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949"}
WIDER |= {"big5": "big5hkscs", "iso8859-1": "cp1252"}
NO_ENCODINGS = ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "undefined")
MAX_DAMAGED = 0.02  # the share of characters that may be undecodable, as in a file that was cut
_NO_TEXT = re.compile("[\0-\x06\x0e-\x1a\x1c-\x1f\x7f]")


def decode_bytes(data: bytes, declared: str = "") -> str | None:
    """Return the text of bytes without its byte order mark; None if they are no text.

    ``declared`` is the encoding that a sender names, which may be wrong or unknown.
    """
    marked = next((encoding for mark, encoding in MARKS.items() if data.startswith(mark)), None)
    if marked is not None:
        return _decode(data, marked)
    plain = b"\0" not in data
    if plain and b"\x1b$" not in data:  # which begins Japanese or Korean letters in ASCII
        with suppress(UnicodeDecodeError):
            text = data.decode("utf-8")
            return None if _NO_TEXT.search(text) else text
    encoding = find_encoding(declared)
    found = _decode(data, encoding) if encoding else None
    if found is not None or (plain and len(data) < SHORTEST):
        return found
    if plain:
        return _decode(data, _guess_encoding(data))
    wide = _guess_wide_encoding(data[:SAMPLE])
    return _decode(data, wide, "strict") if wide else None


def find_encoding(name: str) -> str:
    """Return Python's name of a text encoding; empty if it has none."""
    for known in (name, name.lower().replace("windows-", "cp")):
        with suppress(LookupError, ValueError):
            "".encode(known)  # refuses what is no encoding of text
            found = codecs.lookup(known).name
            return "" if found in NO_ENCODINGS else WIDER.get(found, found)
    return ""


def _guess_encoding(data: bytes) -> str:
    from chardetng_py import EncodingDetector  # noqa: PLC0415 - most text is UTF-8

    starts = (at for at in range(0, len(data), SAMPLE) if not data[at : at + SAMPLE].isascii())
    first = next(starts, max(0, data.find(b"\x1b$")))
    detector = EncodingDetector()
    detector.feed(data[first : first + SAMPLE], last=False)  # which may end within a letter
    found = find_encoding(detector.guess(tld=None, allow_utf8=False)) or "cp1252"
    # The euro sign took the place of a sign for any currency, which is hardly ever written.
    return "iso8859-15" if found == "cp1252" and b"\xa4" in data else found


def _guess_wide_encoding(sample: bytes) -> str:
    """Guess from where zeros are: spaces and digits have them on one side; empty if none do."""
    zeros = [sample[side::4].count(0) for side in range(4)]
    every = len(sample) // 4  # in UTF-32, two bytes of each letter of a living language
    if every in (min(zeros[:2]), min(zeros[2:])):
        return "utf-32-be" if zeros[0] == every else "utf-32-le"
    big, little = zeros[0] + zeros[2], zeros[1] + zeros[3]
    if max(big, little) < max(2, len(sample) // 100) or min(big, little) * 9 > max(big, little):
        return ""
    return "utf-16-le" if little > big else "utf-16-be"


def _decode(data: bytes, encoding: str, errors: str = "replace") -> str | None:
    """Return the text, with what is damaged replaced; None if that is much, or it is no text."""
    with suppress(UnicodeDecodeError):
        text = data.decode(encoding, errors)
        damaged = text.count("\N{REPLACEMENT CHARACTER}")
        if damaged <= 1 + MAX_DAMAGED * len(text) and not _NO_TEXT.search(text):
            return text
    return None
