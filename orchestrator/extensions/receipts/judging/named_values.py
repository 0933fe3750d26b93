"""Hold the recipients, files, amounts and numbers that a sentence names against its calls."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from orchestrator.extensions.receipts.judging.claim_kinds import load_effect_tables
from orchestrator.extensions.receipts.judging.languages import HAN, Language
from orchestrator.extensions.receipts.judging.reported_calls import JudgedCall
from orchestrator.extensions.receipts.judging.tagging import Token

MAX_SEARCHED = 20_000  # characters of a call's arguments, and of its result
MAX_SEARCHED_IN_ALL = 200_000  # characters of all calls
EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
RECIPIENT = re.compile(
    r'"(?:to|cc|bcc|recipients?|email|address|e_?mails?|attendees?|participants?|user(?:name)?|contact'
    r"|recipient_?(?:name|email)|payee|beneficiary|name|channel|chat|person|receiver|destinat\w+"
    r'|empf\w+|para|komu|odbiorca)"\s*:\s*(\[[^\]]{0,2000}\]|"(?:[^"\\]|\\.){0,300}")',
    re.IGNORECASE,
)
FILE = re.compile(r"(?<![\w.-])[\w.-]{1,100}\.[A-Za-z0-9]{1,6}(?![\w@])")
NUMBER = re.compile(r"\d[\d.,]*\d|\d")
RECIPIENT_KINDS = frozenset({"send", "call", "pay"})
MIN_DIGITS = 7  # of a telephone number
VOWELS = "aeiouy"
MIN_STEM = 3  # letters of a name
MAX_NAME = 3  # words of one
HAN_NAME = range(2, 5)  # characters of one in Chinese
MIN_CODE = 5  # digits of a number that names something
NEAR = 200  # characters between a name and an address that belong together


class Conflict(NamedTuple):
    """A value that a sentence names, and what the calls name instead."""

    value: str
    calls: tuple[int, ...]


def fold_text(text: str) -> str:
    """Return a text in lower case without accents."""
    text = text.lower()
    if text.isascii():
        return text
    text = text.replace("ß", "ss").replace("ł", "l").replace("ø", "o")
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


class CallTexts:
    """The texts of all calls as they are searched; made when first asked for."""

    def __init__(self, calls: Sequence[JudgedCall]) -> None:
        self.calls = calls

    @cached_property
    def arguments(self) -> list[str]:
        """The arguments of each call."""
        return [_decode(call.arguments) for call in self.calls]

    @cached_property
    def searched(self) -> list[str]:
        """Name, arguments and result of each call, folded, so many characters in all."""
        room = MAX_SEARCHED_IN_ALL
        texts = []
        for call, arguments in zip(self.calls, self.arguments, strict=True):
            text = f"{call.tool} {arguments} {call.result[:MAX_SEARCHED]}"[: max(room, 0)]
            room -= len(text)
            texts.append(fold_text(text))
        return texts


class CallEvidence:
    """What the done calls of a kind, and all calls, have in their arguments and results."""

    def __init__(self, texts: CallTexts, done: Sequence[int]) -> None:
        self.calls = texts.calls
        self.arguments = [texts.arguments[seq] for seq in done]
        self.own = "\n".join(texts.searched[seq] for seq in done)
        self.others = [
            (seq, text) for seq, text in enumerate(texts.searched) if seq not in set(done)
        ]
        self.everything = "\n".join(texts.searched)

    @cached_property
    def addresses(self) -> list[str]:
        """The e-mail addresses in the arguments."""
        return [one for text in self.arguments for one in EMAIL.findall(text.lower())]

    @cached_property
    def recipients(self) -> list[str]:
        """The addresses and names to which the calls go; only those with letters."""
        return _list_recipients(self.arguments, self.addresses)

    @cached_property
    def phones(self) -> str:
        """The digits of the arguments if they are enough for a telephone number."""
        digits = re.sub(r"[^\d\n\"]", "", "\n".join(self.arguments))
        return digits if re.search(rf"\d{{{MIN_DIGITS},}}", digits) else ""

    @cached_property
    def names_files(self) -> bool:
        """Whether the arguments name any file."""
        return any(FILE.search(text) for text in self.arguments)

    @cached_property
    def amounts(self) -> frozenset[float]:
        """The numbers that an amount may be: those of the calls, as cents too, and their sum.

        Empty if the arguments have no number.
        """
        given = [_read_number(one) for text in self.arguments for one in NUMBER.findall(text)]
        known = [_read_number(one) for one in NUMBER.findall(self.own)] if given else []
        sums = [round(sum(given), 2)] if given else []
        return frozenset([*known, *(round(one / 100, 2) for one in known), *sums])

    def find_others(self, value: str) -> tuple[int, ...]:
        """Return the other calls that name a value."""
        return tuple(seq for seq, text in self.others if value in text)


def find_conflict(
    tokens: Sequence[Token], place: int, language: Language, kind: str, evidence: CallEvidence
) -> Conflict | None:
    """Return a value of the sentence that contradicts the done calls, or None."""
    if kind in RECIPIENT_KINDS and any(token.text in language.every for token in tokens):
        left_out = _find_left_out(evidence)
        if left_out is not None:
            return left_out
    checks: tuple[Callable[[], Conflict | None], ...] = (
        lambda: _check_recipients(tokens, place, language, kind, evidence),
        lambda: _check_files(tokens, evidence),
        lambda: _check_amounts(tokens, kind, evidence),
        lambda: _check_numbers(tokens, evidence),
        lambda: _check_quotations(tokens, evidence),
    )
    return next((found for check in checks if (found := check()) is not None), None)


def _find_left_out(evidence: CallEvidence) -> Conflict | None:
    """Return the address of a call that was not done, if no done call has it."""
    for seq, text in evidence.others:
        if evidence.calls[seq].state in {"failed", "denied", "unknown", "waiting"}:
            lost = [one for one in EMAIL.findall(text) if one not in evidence.own]
            if lost:
                return Conflict(lost[0], (seq,))
    return None


def _decode(arguments: str) -> str:
    """Return arguments with the escapes of their JSON undone, as far as they matter here."""
    text = arguments[:MAX_SEARCHED]
    if "\\u" in text:
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    return text.replace("\\n", "\n").replace('\\"', '"')


def _check_recipients(
    tokens: Sequence[Token], place: int, language: Language, kind: str, evidence: CallEvidence
) -> Conflict | None:
    emails = [token.text.lower() for token in tokens if token.kind == "address"]
    if kind in RECIPIENT_KINDS or kind == "schedule":
        lost = [one for one in emails if one not in evidence.own]
        if evidence.addresses and len(lost) == len(emails) and lost:
            return Conflict(lost[0], evidence.find_others(lost[0]))
        failed = [one for one in lost if _is_in_undone_call(one, evidence)]
        if failed:
            return Conflict(failed[0], evidence.find_others(failed[0]))
    if kind not in RECIPIENT_KINDS:
        return None
    phones = [digits for token in tokens if len(digits := _read_phone(token)) >= MIN_DIGITS]
    for phone in phones:
        if evidence.phones and phone[-MIN_DIGITS:] not in evidence.phones:
            return Conflict(phone, evidence.find_others(phone))
    return _check_names(tokens, place, language, evidence)


def _is_in_undone_call(value: str, evidence: CallEvidence) -> bool:
    return any(
        evidence.calls[seq].state not in {"done", "ledger"} for seq in evidence.find_others(value)
    )


def _read_phone(token: Token) -> str:
    return re.sub(r"\D", "", token.text) if token.kind == "number" and ":" not in token.text else ""


def _check_names(
    tokens: Sequence[Token], place: int, language: Language, evidence: CallEvidence
) -> Conflict | None:
    recipients: Sequence[str] = evidence.recipients
    if not language.file.spaced:
        recipients = [one for one in recipients if HAN.search(one)]
    if not recipients:
        return None
    for name in _iter_named_people(tokens, place, language):
        if not any(_fits(fold_text(part), recipients, evidence) for part in name.split()):
            folded = fold_text(name.split()[0])[:4]
            return Conflict(name, evidence.find_others(folded))
    return None


def _list_recipients(arguments: Sequence[str], addresses: Sequence[str]) -> list[str]:
    found = [*addresses, *(one for text in arguments for one in RECIPIENT.findall(text))]
    parts = [part for one in found for part in re.findall(r'[^"\[\],;]+', one)]
    return [fold_text(part.strip()) for part in parts if re.search(r"[^\W\d_]{2}", part)]


def _fits(name: str, recipients: Sequence[str], evidence: CallEvidence) -> bool:
    """Return whether a name may mean one of the recipients."""
    stem = name[: max(MIN_STEM, len(name) - 2)]  # the end is inflected in Polish
    if stem in evidence.own or _translit(stem) in evidence.own:
        return True
    for recipient in recipients:
        local = recipient.partition("@")[0]
        words = re.findall(r"[^\W\d_]+", local)
        if words and _may_abbreviate(words, name):
            return True
        if any(_stand_together(stem, recipient, text) for _, text in evidence.others):
            return True
    return False


def _may_abbreviate(local: Sequence[str], name: str) -> bool:
    """Return whether the local part of an address begins with a name's initial and a surname."""
    if len(local) > 1:
        return local[0] == name[0]
    return local[0][0] == name[0] and local[0][1:2] not in {*VOWELS, name[1:2]}


def _translit(text: str) -> str:
    return text.replace("a", "ae").replace("o", "oe").replace("u", "ue")


def _stand_together(name: str, address: str, text: str) -> bool:
    """Return whether a result that was read gives a name this address."""
    place = text.find(address)
    return place >= 0 and name in text[max(0, place - NEAR) : place + len(address) + NEAR]


def _iter_named_people(tokens: Sequence[Token], verb: int, language: Language) -> Iterator[str]:
    """Yield the names after the word that stands before recipients, and after the verb."""
    for at, token in enumerate(tokens[:-1]):
        if at == verb or (token.tag in {"H", "G"} and language.file.compounds):
            name, after = _read_name(tokens, at + 1, language)
            is_object = after < len(tokens) and tokens[after].tag in {"D", "A", "J"}
            if name and language.file.spaced and (at == verb or is_object):
                yield name
    place = 0
    while place < len(tokens):
        if tokens[place].tag == "t":
            place += 1
            while place < len(tokens):
                name, after = _read_name(tokens, place, language)
                if name:
                    yield name
                    place = after
                if place < len(tokens) and tokens[place].tag in "&," and name:
                    place += 1
                else:
                    break
        else:
            place += 1


def _read_name(tokens: Sequence[Token], place: int, language: Language) -> tuple[str, int]:
    words: list[str] = []
    while place < len(tokens) and tokens[place].tag == "n" and len(words) < MAX_NAME:
        words.append(tokens[place].written)
        place += 1
    if not language.file.spaced and place < len(tokens) and tokens[place].tag == "w":
        written = tokens[place].written
        return (written if len(written) in HAN_NAME else ""), place + 1
    known = language.roles
    return ("" if any(word in known for word in words) else " ".join(words)), place


def _check_files(tokens: Sequence[Token], evidence: CallEvidence) -> Conflict | None:
    files = [fold_text(t.text).rpartition("/")[2] for t in tokens if t.kind == "file"]
    if not files or any(one in evidence.own for one in files):
        return None
    if not evidence.names_files:
        return None
    return Conflict(files[0], evidence.find_others(files[0]))


def _check_amounts(tokens: Sequence[Token], kind: str, evidence: CallEvidence) -> Conflict | None:
    if kind != "pay":
        return None
    amounts = [
        _read_number(token.text)
        for place, token in enumerate(tokens)
        if token.kind == "money"
        or (token.kind == "number" and _is_currency(tokens[place + 1 : place + 2]))
    ]
    known = evidence.amounts
    if not amounts or not known or any(round(amount, 2) in known for amount in amounts):
        return None
    return Conflict(f"{amounts[0]:g}", ())


def _is_currency(following: Sequence[Token]) -> bool:
    known = load_effect_tables().currencies.split()
    return any(token.text in known for token in following)


def _read_number(text: str) -> float:
    """Return the number that a text writes, with either sign for the fraction."""
    digits = re.sub(r"[^\d.,]", "", text).strip(".,")
    fraction = re.search(r"[.,](\d{1,2})$", digits)
    whole = re.sub(r"\D", "", digits[: fraction.start()] if fraction else digits)
    return round(float(f"{whole or 0}.{fraction[1] if fraction else 0}"), 2)


def _check_numbers(tokens: Sequence[Token], evidence: CallEvidence) -> Conflict | None:
    """Return a code or long number that stands in no call at all."""
    for token in tokens:
        code = token.kind == "code" and len(token.text) >= MIN_CODE
        digits = token.kind == "number" and re.fullmatch(rf"\d{{{MIN_CODE},}}", token.text)
        if (code or digits) and fold_text(token.text).lstrip("#") not in evidence.everything:
            return Conflict(token.text, ())
    return None


def _check_quotations(tokens: Sequence[Token], evidence: CallEvidence) -> Conflict | None:
    """Return a quotation of which not one word is in any call."""
    for token in tokens:
        if token.kind == "quotation":
            words = re.findall(r"[^\W\d_]{4,}", fold_text(token.text))
            parts = [word[:4] for word in words] or re.findall(r"[\u4e00-\u9fff]{2}", token.text)
            if (
                len(evidence.own) > 1
                and parts
                and not any(part in evidence.everything for part in parts)
            ):
                return Conflict(token.text, ())
    return None
