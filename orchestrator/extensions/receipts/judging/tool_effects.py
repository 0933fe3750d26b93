"""Tell what kinds of effects a tool has, by its name, its description and a call's arguments."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from orchestrator.extensions.receipts.judging.claim_kinds import load_effect_tables
from orchestrator.extensions.receipts.judging.languages import list_verb_groups

UNKNOWN = frozenset({"any"})
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")
ENDS = ("", "s", "es", "d", "ed", "ing")
PROGRAM = frozenset(("service", "tool", "function", "api", "method", "endpoint", "action"))
MAX_KEPT = 1_000  # tools whose effects are remembered
MAX_READ = 2_000  # characters of a description or of arguments
SENTENCE = re.compile(r"[.\n]")
COMMAND = re.compile(r'"(?:command|cmd|script)"\s*:\s*"((?:[^"\\]|\\.){0,400})"')


def find_tool_effects(tool: str, description: str, arguments: str) -> frozenset[str]:
    """Return the kinds of effects that a call has; empty if it only reads, ``any`` if unknown."""
    tables = load_effect_tables()
    known = tables.tools.get(tool)
    if known is None:
        return _guess_effects(tool, description[:MAX_READ], _find_actions(arguments))
    if known == UNKNOWN and tool == "run_command" and _is_harmless(arguments):
        return frozenset()
    return known


def _find_actions(arguments: str) -> str:
    pattern = (
        rf'"(?:{"|".join(load_effect_tables().actions.split())})"\s*:\s*"([a-zA-Z_ -]{{1,40}})"'
    )
    return " ".join(re.findall(pattern, arguments[:MAX_READ]))


def _is_harmless(arguments: str) -> bool:
    """Return whether a command's first words only read."""
    found = COMMAND.search(arguments[:MAX_READ])
    if found is None or re.search(r"[>`]|\$\(|\btee\b|-exec|-delete", found[1]):
        return False
    commands = re.split(r"&&|\|\||[;|]|\\n", found[1])
    known = frozenset(load_effect_tables().harmless_commands.split())
    return all(one.split()[0] in known for one in commands if one.split())


@cache
def _index_words() -> tuple[frozenset[str], frozenset[str], Mapping[str, frozenset[str]]]:
    """Return the words for reading, those that are nouns as well, and the effects by verb."""
    tables = load_effect_tables()
    acting: dict[str, set[str]] = {}
    for effect, words in tables.acting.items():
        for word in words.split():
            acting.setdefault(word, set()).add(effect)
    return (
        frozenset(tables.reading.split()) - frozenset(tables.either.split()),
        frozenset(tables.either.split()),
        {word: frozenset(effects) for word, effects in acting.items()},
    )


@lru_cache(maxsize=MAX_KEPT)
def _guess_effects(tool: str, description: str, actions: str) -> frozenset[str]:
    words = [word.lower() for word in WORD.findall(f"{tool} {actions}")]
    found = _weigh_words_of_tool(words)
    if found is None:
        first = SENTENCE.split(description.strip(), maxsplit=1)[0]
        found = _weigh_words_of_tool([word.lower() for word in WORD.findall(first)][:12])
    if found is None and frozenset(words) & frozenset(load_effect_tables().reading_nouns.split()):
        return frozenset()
    return UNKNOWN if found is None else found


def _weigh_words_of_tool(words: list[str]) -> frozenset[str] | None:
    """Return the effects that words name; empty if they only read, None if no verb is known."""
    reading, either, acting = _index_words()
    stems = [stem for word in words for stem in _list_stems(word, acting)]
    sure = [stem for stem in stems if stem in acting and stem not in either]
    reads = any(word in reading for word in words) or any(stem in reading for stem in stems)
    if not sure and reads:
        return frozenset()
    verbs = sure or [stem for stem in stems if stem in acting]
    foreign = {group for word in words for group in list_verb_groups().get(word, ())}
    if not verbs and not foreign:
        return None
    groups = load_effect_tables().groups
    effects = {effect for verb in verbs for effect in acting[verb]}
    if not verbs:
        effects |= {effect for group in foreign if group in groups for effect in groups[group].by}
    narrowed = _narrow_effects(frozenset(effects), verbs, words)
    return UNKNOWN if narrowed == {"call"} and PROGRAM & set(words) else narrowed


def _narrow_effects(effects: frozenset[str], verbs: list[str], words: list[str]) -> frozenset[str]:
    """Add the kinds of things that a verb of making makes."""
    tables = load_effect_tables()
    if not verbs or frozenset(verbs) & frozenset(tables.makes.split()):
        things = {
            kind
            for kind, nouns in tables.things.items()
            if any(
                word in nouns.split() or word.removesuffix("s") in nouns.split() for word in words
            )
        }
        return effects - {"write"} | frozenset(things) if things else effects
    return effects


def _list_stems(word: str, known: Mapping[str, frozenset[str]]) -> Iterator[str]:
    for end in ENDS:
        if word.endswith(end) and word.removesuffix(end) in known:
            yield word.removesuffix(end)
            return
    if word.endswith("ing") and f"{word[:-3]}e" in known:
        yield f"{word[:-3]}e"
