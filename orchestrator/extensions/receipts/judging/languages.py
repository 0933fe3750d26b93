"""The words of each language, and the choice of one for an answer."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

FOLDER = Path(__file__).with_name("words")
COMMON = 2  # weight of a word that sentences of this language need; nouns count once
MAX_TIMES = 3  # that one word counts
READ = 3_000  # characters from each end of an answer by which its language is chosen
MIN_COMPOUND = 4  # letters of a noun that may end a longer one
WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
LETTERS = re.compile(r"[^\W\d_]+")
HAN = re.compile(r"[\u4e00-\u9fff]")
KANA = re.compile(r"[\u3040-\u30ff]")
VALUE = re.compile(r"https?://\S+|(?<!\S)\S{1,80}(?:@\S{1,80}|\.[A-Za-z0-9]{2,5})(?!\w)")
HANGUL = re.compile(r"[\uac00-\ud7af]")
T = TypeVar("T")
KANA_SHARE = 8  # one kana among so many Han characters is Japanese


class LanguageFile(BaseModel):
    """What a file of `words` holds.

    In lists a space separates words and an underscore stands for a space; in ``tags`` a bar
    separates them. ``endings`` gives each class of verbs its endings by the part that the form has
    in a sentence; ``~`` stands for the stem. Forms without a class are listed by that part.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    spaced: bool = True
    compounds: bool = False
    common: str
    endings: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
    verbs: Mapping[str, Mapping[str, str]]
    nouns: Mapping[str, str]
    tags: Mapping[str, str]
    patterns: Mapping[str, tuple[str, ...]]
    adverb_endings: tuple[str, ...] = ()
    to: str = ""
    roles: str = ""
    subjects: str = ""
    stative: str = ""
    plural: str = ""
    general: str = ""
    every: str = ""
    listener: str = ""
    sorting: str = ""
    participle_like: str = "(?!)"
    traditional: str = ""
    simplified: str = ""


class Language(NamedTuple):
    """The tables of one language.

    ``tags`` gives each word, or sequence of words, its part in a sentence, by one letter.
    ``groups`` gives a verb's form its groups; ``nouns`` the kinds of things that a noun may name.
    ``triggers`` are the words without one of which no sentence reports an effect.
    """

    name: str
    file: LanguageFile
    tags: Mapping[str, str]
    sequences: Mapping[str, tuple[tuple[str, ...], ...]]
    groups: Mapping[str, tuple[str, ...]]
    nouns: Mapping[str, tuple[str, ...]]
    patterns: Mapping[str, tuple[re.Pattern[str], ...]]
    roles: frozenset[str]
    stative: frozenset[str]
    plural: frozenset[str]
    general: frozenset[str]
    every: frozenset[str]
    listener: frozenset[str]
    sorting: frozenset[str]
    triggers: frozenset[str]
    tokens: re.Pattern[str] | None
    participle_like: re.Pattern[str]
    simplified: Mapping[int, int]

    def find_noun(self, word: str) -> tuple[str, ...]:
        """Return the kinds of things that a word may name; empty if it is no such noun."""
        kinds = self.nouns.get(word, ())
        if kinds or not self.file.spaced:
            return kinds
        if "-" in word:
            return self.nouns.get(word.rpartition("-")[2], ())
        if self.file.compounds and len(word) > 2 * MIN_COMPOUND - 1:
            ends = (word[at:] for at in range(2, len(word) - MIN_COMPOUND + 1))
            return next((self.nouns[end] for end in ends if end in self.nouns), ())
        return ()


@cache
def load_languages() -> Mapping[str, Language]:
    """Read the tables; call it before the process loses its access to files."""
    files = sorted(FOLDER.glob("*.json"))
    return {
        path.stem: _build_language(path.stem, LanguageFile.model_validate_json(path.read_bytes()))
        for path in files
    }


@cache
def list_verb_groups() -> Mapping[str, frozenset[str]]:
    """Return the groups that each form of a verb has in any language."""
    found: dict[str, set[str]] = {}
    for language in load_languages().values():
        for form, groups in language.groups.items():
            found.setdefault(form, set()).update(groups)
    return {form: _share_value(frozenset(groups)) for form, groups in found.items()}


def may_report(text: str) -> bool:
    """Return whether a text may report an effect in any language; takes a tenth of judging it."""
    return HAN.search(text) is not None or not _list_triggers().isdisjoint(
        LETTERS.findall(text.lower())
    )


@cache
def _list_triggers() -> frozenset[str]:
    spaced = (one for one in load_languages().values() if one.file.spaced)
    return frozenset().union(*(one.triggers for one in spaced))


def choose_language(lines: Sequence[str]) -> Language | None:
    """Return the language that has most of an answer's words, or None."""
    text = "\n".join(lines)
    sample = text if len(text) <= 2 * READ else text[:READ] + text[-READ:]
    sample = VALUE.sub(" ", sample)
    written = _find_script(sample)
    if written is not None:
        return load_languages().get(written)
    scores = Counter[str]()
    for word, times in Counter(WORDS.findall(sample.lower())).items():
        for name, weight in _weigh_words().get(word, ()):
            scores[name] += weight * min(times, MAX_TIMES)
    best = scores.most_common(1)
    return load_languages()[best[0][0]] if best else None


def _find_script(text: str) -> str | None:
    """Return the language of a script without spaces; empty for one that is not known."""
    han, kana, hangul = (len(one.findall(text)) for one in (HAN, KANA, HANGUL))
    if not han + kana + hangul or han + kana + hangul < len(re.findall(r"[A-Za-z]+", text)):
        return None
    if hangul > han + kana:
        return ""
    return "ja" if kana * KANA_SHARE > han else "zh"


@cache
def _weigh_words() -> Mapping[str, tuple[tuple[str, int], ...]]:
    weights: dict[str, tuple[tuple[str, int], ...]] = {}
    for name, language in load_languages().items():
        if language.file.spaced:
            done = [word for word, tag in language.tags.items() if tag == "U"]
            words = dict.fromkeys((*language.nouns, *done), 1)
            words |= {form: 1 + 2 * (language.tags[form] != "V") for form in language.groups}
            words |= {word: COMMON for word in language.file.common.split() if "'" not in word}
            for word, weight in words.items():
                weights[word] = _share_value((*weights.get(word, ()), (name, weight)))
    return weights


@cache
def _share_value(value: T) -> T:
    """Return the first of all equal values, so that a table of words has each of them once."""
    return value


def _split_words(text: str) -> list[str]:
    return [word.replace("_", " ") for word in text.split()]


def _build_language(name: str, file: LanguageFile) -> Language:
    verbs = list(_iter_forms(file))
    nouns = _gather_values(
        (word, kind) for kind, words in file.nouns.items() for word in _split_words(words)
    )
    tags = _order_tags(file, [(form, tag) for form, tag, _ in verbs], list(nouns))
    groups = _gather_values((form, group) for form, _, group in verbs)
    said = [word for word, tag in tags.items() if tag in "Ll"]
    said += [form for form, tag, _ in verbs if tag != "V" or not file.spaced]
    by_length = sorted(tags, key=len, reverse=True)
    common = frozenset(file.common.split())
    return Language(
        name=name,
        file=file,
        tags=tags,
        sequences=_index_sequences(by_length),
        groups=groups,
        nouns=nouns,
        patterns={how: tuple(map(re.compile, found)) for how, found in file.patterns.items()},
        roles=frozenset(_split_words(file.roles)),
        stative=frozenset(_split_words(file.stative)),
        plural=frozenset(_split_words(file.plural)),
        general=frozenset(_split_words(file.general)),
        every=frozenset(_split_words(file.every)),
        listener=frozenset(_split_words(file.listener)),
        sorting=frozenset(_split_words(file.sorting)),
        triggers=frozenset(_choose_trigger(form, common) for form in said),
        tokens=None if file.spaced else re.compile("|".join(map(re.escape, by_length))),
        participle_like=re.compile(file.participle_like),
        simplified=str.maketrans(file.traditional, file.simplified),
    )


def _choose_trigger(form: str, common: frozenset[str]) -> str:
    """Return the word of a form by which a line that has it is found."""
    words = LETTERS.findall(form)
    rare = [word for word in words if word not in common]
    return max(rare or words, key=len, default=form)


def _gather_values(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return all values of each key, in their order."""
    found: dict[str, dict[str, None]] = {}
    for key, value in pairs:
        found.setdefault(key, {})[value] = None
    return {key: _share_value(tuple(values)) for key, values in found.items()}


def _order_tags(
    file: LanguageFile, verbs: Sequence[tuple[str, str]], nouns: Sequence[str]
) -> dict[str, str]:
    """Return the part of each word; the first of these that has it decides."""
    tags = dict.fromkeys(_split_words(file.to), "t")
    tags |= dict.fromkeys(_split_words(file.subjects), "s")
    for tag, words in file.tags.items():
        for word in words.split("|"):
            tags.setdefault(word, tag)
    for form, tag in verbs:
        if tag != "V" or not file.spaced:
            tags.setdefault(form, tag)
    for form in nouns:
        tags.setdefault(form, "O")
    for form, tag in verbs:
        tags.setdefault(form, tag)
    tags.pop("", None)
    return tags


def _index_sequences(entries: Sequence[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the entries of several words by their first one, the longest first."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for words in entries:
        parts = tuple(words.split(" "))
        if len(parts) > 1:
            found.setdefault(parts[0], []).append(parts)
    return {first: tuple(sorted(some, key=len, reverse=True)) for first, some in found.items()}


def _iter_forms(file: LanguageFile) -> Iterator[tuple[str, str, str]]:
    """Yield each form of each verb, the part that it has, and the verb's group."""
    for group, classes in file.verbs.items():
        for ending, stems in classes.items():
            for tag, suffixes in file.endings.get(ending, {ending: ("",)}).items():
                for stem in _split_words(stems):
                    first, *rest = stem.split(" ", 1)
                    for suffix in suffixes:
                        form = suffix.replace("~", first) if "~" in suffix else first + suffix
                        yield " ".join([form, *rest]), tag, group
