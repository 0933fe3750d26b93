"""Tell which kind of effect a verb reports, and which effects of tools would show it."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict

from orchestrator.extensions.receipts.judging.languages import Language
from orchestrator.extensions.receipts.judging.tagging import Token

MAX_NOUNS = 3  # nearest to a verb, any of which may be what it was done to
FILE = Path(__file__).with_name("effects.json")


class VerbGroup(BaseModel):
    """Verbs that report one kind of effect; ``by`` are the effects of tools that show it.

    With ``nouns`` a verb counts only beside a noun of these kinds, never beside ``not_nouns``; a
    noun of one of the kinds ``refine`` decides the kind. ``no_chat``: not beside a word for a part
    of the answer itself. Without ``listener`` not if the person is the object; ``sorting`` verbs
    have another meaning beside words of order.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    by: frozenset[str]
    nouns: frozenset[str] = frozenset()
    not_nouns: frozenset[str] = frozenset()
    refine: frozenset[str] = frozenset()
    no_chat: bool = False
    listener: bool = True
    sorting: bool = False


class EffectTables(BaseModel):
    """What `effects.json` holds; ``acknowledging`` words are said like "done" and claim nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kinds: Mapping[str, frozenset[str]]
    groups: Mapping[str, VerbGroup]
    noun_kinds: Mapping[str, str]
    tools: Mapping[str, frozenset[str]]
    reading: str
    reading_nouns: str
    acting: Mapping[str, str]
    either: str
    things: Mapping[str, str]
    makes: str
    actions: str
    harmless_commands: str
    currencies: str
    acknowledging: frozenset[str]
    notes: Mapping[str, str]


class ReportedEffect(NamedTuple):
    """The kind of an effect, and the effects of tools any of which shows it."""

    kind: str
    by: frozenset[str]


@cache
def load_effect_tables() -> EffectTables:
    """Read the tables; call it before the process loses its access to files."""
    return EffectTables.model_validate(orjson.loads(FILE.read_bytes()))


def find_effect(
    tokens: Sequence[Token], place: int, clause: tuple[int, int], language: Language
) -> ReportedEffect | None:
    """Return the effect that the verb at a place reports; None if it reports none of a tool."""
    tables = load_effect_tables()
    kinds = _list_noun_kinds(tokens, place, clause, language)
    found = []
    for name in language.groups.get(tokens[place].text, ()):
        group = tables.groups[name]
        if not _means_something_else(tokens, place, group, language):
            effect = _find_effect_of_group(name, kinds, tokens, language)
            found += [] if effect is None else [(not group.nouns, effect)]
    if not found:
        return None
    best = min(found, key=lambda one: one[0])[1]
    if best.kind == "send" and any(token.kind == "money" for token in tokens):
        best = ReportedEffect("send", best.by | {"pay"})
        found.append((False, best))
    return ReportedEffect(best.kind, frozenset().union(*(effect.by for _, effect in found)))


def _find_effect_of_group(
    name: str, kinds: Sequence[str], tokens: Sequence[Token], language: Language
) -> ReportedEffect | None:
    tables = load_effect_tables()
    group = tables.groups[name]
    stored = [kind for kind in kinds if kind not in {"chat", "tool"}]
    is_part = kinds[:1] == ["chat"] and not any(token.kind == "file" for token in tokens)
    if name == "write" and is_part:
        return None
    if name == "write":
        return _find_written_effect(tokens, stored, language)
    if (group.no_chat and "chat" in kinds[:1]) or group.not_nouns & set(kinds[:1]):
        return None
    wanted = [kind for kind in stored if kind in group.nouns]
    if group.nouns and (not wanted or is_part):
        return None
    refined = [kind for kind in stored if kind in group.refine]
    if not refined:
        return ReportedEffect(group.kind, group.by)
    noun = group.kind if group.kind in refined else refined[0]
    by = (tables.kinds[tables.noun_kinds.get(one, one)] | {one} for one in refined[:MAX_NOUNS])
    return ReportedEffect(tables.noun_kinds.get(noun, noun), group.by.union(*by))


def _find_written_effect(
    tokens: Sequence[Token], stored: Sequence[str], language: Language
) -> ReportedEffect | None:
    """Return what "wrote" reports: a message if it goes to a person, else a file or note."""
    tables = load_effect_tables()
    if "write" in stored or "remember" in stored:
        return ReportedEffect("write", tables.groups["write"].by)
    goes_to = any(
        (token.tag == "t" and tokens[place + 1].tag in {"n", "@"})
        or (token.tag in {"H", "G"} and tokens[place + 1].tag == "n")
        for place, token in enumerate(tokens[:-1])
    )
    if goes_to and language.file.spaced:
        return ReportedEffect("send", tables.groups["send"].by)
    return None


def _means_something_else(
    tokens: Sequence[Token], place: int, group: VerbGroup, language: Language
) -> bool:
    near = tokens[max(0, place - 3) : place + 2]
    if not group.listener and any(token.text in language.listener for token in near):
        return True
    return group.sorting and any(token.text in language.sorting for token in tokens)


def _list_noun_kinds(
    tokens: Sequence[Token], place: int, clause: tuple[int, int], language: Language
) -> list[str]:
    """Return the kinds of the nouns: those of the verb's clause first, then by their distance."""
    found = []
    for at, token in enumerate(tokens):
        kinds: tuple[str, ...] = ("write",) if token.kind == "file" else ()
        if token.tag == "O" or (token.kind != "file" and not language.file.spaced):
            kinds = language.find_noun(token.text)
        outside = not clause[0] <= at < clause[1]
        found += [(outside, abs(at - place), kind == "chat", kind) for kind in kinds if at != place]
    return [kind for *_, kind in sorted(found)]
