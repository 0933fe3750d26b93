"""Judge an answer: each sentence that reports an effect against the calls that were made."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from orchestrator.extensions.receipts.judging.claim_kinds import (
    ReportedEffect,
    find_effect,
    load_effect_tables,
)
from orchestrator.extensions.receipts.judging.detection import QUESTION, FoundVerb, find_verbs
from orchestrator.extensions.receipts.judging.languages import (
    LETTERS,
    Language,
    choose_language,
    list_verb_groups,
    may_report,
)
from orchestrator.extensions.receipts.judging.named_values import (
    CallEvidence,
    CallTexts,
    find_conflict,
    fold_text,
)
from orchestrator.extensions.receipts.judging.prose import Sentence, list_lines, split_line
from orchestrator.extensions.receipts.judging.reported_calls import (
    Claim,
    JudgedCall,
    KnownTool,
    Verdict,
)
from orchestrator.extensions.receipts.judging.tagging import SPOKEN, Token, tag_tokens
from orchestrator.extensions.receipts.judging.tool_effects import UNKNOWN, find_tool_effects

MAX_SENTENCES = 40  # that may report an effect; of those after them nothing is said
MAX_SHOWN = 300  # characters of a sentence in a claim
MADE = frozenset(("make?", "write", "change?", "schedule?"))  # groups of verbs that also make text
OFFERS = frozenset("CMl")  # parts of words by which more is offered
MAX_DONE = 60  # characters of an answer that says no more than "done"
ALIKE = frozenset(("write", "remember", "change", "schedule"))  # kinds that tools mix up
MIN_SHARED = 5  # letters of a word that a report shares with what was read
MAX_READ = 50_000  # characters of results that were read


class _Conversation:
    """The calls, with the effects that each one has."""

    def __init__(self, calls: Sequence[JudgedCall], offered: Sequence[KnownTool]) -> None:
        self.calls = calls
        self.effects = [find_tool_effects(c.tool, c.description, c.arguments) for c in calls]
        self.offered = offered
        self._texts = CallTexts(calls)
        self._evidence: dict[tuple[int, ...], CallEvidence] = {}
        self._read: tuple[str, frozenset[str]] | None = None

    def list_calls(self, effect: ReportedEffect) -> list[int]:
        """Return the calls that could have had an effect."""
        return [
            seq for seq, found in enumerate(self.effects) if found & effect.by or found == UNKNOWN
        ]

    def list_alike(self, tokens: Sequence[Token]) -> list[int]:
        """Return the done calls that kept or changed something that a sentence names."""
        words = {
            fold_text(token.text)[:MIN_SHARED]
            for token in tokens
            if token.tag in {"O", "w", "n", "P"} and len(token.text) >= MIN_SHARED
        }
        return [
            seq
            for seq, (call, effects) in enumerate(zip(self.calls, self.effects, strict=True))
            if call.state in {"done", "ledger"}
            and effects & ALIKE
            and any(word in self._texts.searched[seq] for word in words)
        ]

    def gather_evidence(self, done: Sequence[int]) -> CallEvidence:
        """Return the texts of done calls beside those of all others."""
        key = tuple(done)
        if key not in self._evidence:
            self._evidence[key] = CallEvidence(self._texts, done)
        return self._evidence[key]

    def read_results(self) -> tuple[str, frozenset[str]]:
        """Return what calls that only read have returned, and the groups of its verbs."""
        if self._read is None:
            texts = [
                call.result
                for call, effects in zip(self.calls, self.effects, strict=True)
                if call.state in {"done", "ledger"} and (not effects or effects == UNKNOWN)
            ]
            text = "\n".join(texts)[:MAX_READ].lower()
            forms = list_verb_groups()
            words = set(LETTERS.findall(text))
            groups = {group for word in words for group in forms.get(word, ())}
            self._read = text, frozenset(group.rstrip("?") for group in groups)
        return self._read


class _Found(NamedTuple):
    sentence: Sentence
    tokens: Sequence[Token]
    place: int
    verb: FoundVerb
    effect: ReportedEffect


class ReadAnswer(NamedTuple):
    """An answer whose sentences are read, to be judged by the calls of a conversation."""

    lines: Sequence[str]
    language: Language
    found: Sequence[_Found]


def judge_answer(
    text: str, calls: Sequence[JudgedCall], offered: Sequence[KnownTool]
) -> tuple[Claim, ...]:
    """Return the claims of an answer, in its order; one for each kind that a sentence reports."""
    answer = read_answer(text)
    return () if answer is None else judge_read_answer(answer, calls, offered)


def read_answer(text: str) -> ReadAnswer | None:
    """Read the sentences of an answer that may report an effect; None if it can claim nothing."""
    if len(text) > MAX_DONE and not may_report(text):
        return None
    lines = list_lines(text)
    language = choose_language(lines)
    if language is None:
        return None
    return ReadAnswer(lines, language, list(_iter_found(lines, language)))


def judge_read_answer(
    answer: ReadAnswer, calls: Sequence[JudgedCall], offered: Sequence[KnownTool]
) -> tuple[Claim, ...]:
    """Return the claims of an answer as `judge_answer` does."""
    lines, language, all_found = answer
    conversation = _Conversation(calls, offered)
    claims: dict[tuple[str, str], Claim] = {}
    for found in all_found:
        if not _is_report_of_others(found, language, conversation):
            claim = _judge_claim(found, language, conversation)
            claims.setdefault((claim.text, claim.kind), claim)
    if not claims:
        return _judge_bare_answer(lines, language, conversation)
    return tuple(claims.values())


def _iter_found(lines: Sequence[str], language: Language) -> Iterator[_Found]:
    looked_at = 0
    for line in lines:
        if not _may_report(line, language):
            continue
        for sentence in split_line(line):
            if not _may_report(sentence.text, language):
                continue
            if looked_at >= MAX_SENTENCES:
                return
            looked_at += 1
            tokens = tag_tokens(sentence, language)
            for verb in find_verbs(tokens, language, sentence.text):
                effects = (
                    (place, find_effect(tokens, place, verb.clause, language))
                    for place in verb.places
                )
                place, effect = next((one for one in effects if one[1] is not None), (0, None))
                if effect is None or _introduces_text(sentence, tokens, place, language):
                    continue
                if not _is_general(tokens, place, verb, effect, language):
                    yield _Found(sentence, tokens, place, verb, effect)


def _introduces_text(
    sentence: Sentence, tokens: Sequence[Token], place: int, language: Language
) -> bool:
    """Return whether what was made follows in the answer: "I've created a table:"."""
    groups = language.groups[tokens[place].text]
    made = all(group in MADE for group in groups)
    named = any(token.kind == "file" for token in tokens)
    return made and not named and sentence.text.endswith((":", "\uff1a"))


def _may_report(line: str, language: Language) -> bool:
    if language.tokens is not None:
        simple = line.translate(language.simplified)
        return any(one in simple for one in language.triggers)
    return not language.triggers.isdisjoint(LETTERS.findall(line.lower()))


def _is_report_of_others(found: _Found, language: Language, conversation: _Conversation) -> bool:
    """Return whether a sentence without a speaker tells what a call has read.

    Not if such an effect was tried here, nor if the sentence says that it is new.
    """
    if found.verb.how in {"active", "heir"} or conversation.list_calls(found.effect):
        return False
    tags = {token.tag for token in found.tokens}
    text, groups = conversation.read_results()
    if not text or "J" in tags or found.tokens[0].tag == "U":
        return False
    if not language.file.spaced and found.tokens[found.place].text in text:
        return True
    own = {group.rstrip("?") for group in language.groups[found.tokens[found.place].text]}
    if own & groups:
        return True
    stative = _is_stative(found.tokens, found.verb, language)
    return stative and any(_is_shared(token, text) for token in found.tokens)


def _is_stative(tokens: Sequence[Token], verb: FoundVerb, language: Language) -> bool:
    """Return whether a clause tells a state: "is booked"."""
    clause = tokens[slice(*verb.clause)]
    return any(token.tag == "B" and token.text in language.stative for token in clause)


def _is_general(
    tokens: Sequence[Token],
    place: int,
    verb: FoundVerb,
    effect: ReportedEffect,
    language: Language,
) -> bool:
    """Return whether a sentence tells how something is made: "Reminders are created in the app"."""
    clause = tokens[slice(*verb.clause)]
    if verb.how != "passive" or any(token.tag == "J" for token in tokens):
        return False
    groups = language.groups[tokens[place].text]
    habit = any(token.tag == "h" for token in tokens)
    if habit and effect.kind != "schedule":
        return True
    if "change" in groups and _is_stative(tokens, verb, language):
        return not any("change" in language.find_noun(token.text) for token in clause)
    many = any(token.tag == "B" and token.text in language.plural for token in clause)
    weak = all(group.endswith("?") for group in groups)
    before = tokens[verb.clause[0] : place]
    bare = not any(
        token.tag in {"D", "A"} and token.text not in language.general for token in before
    )
    return many and (weak or bare)


def _is_shared(token: Token, text: str) -> bool:
    return (
        token.kind in {"number", "code", "address", "quotation"}
        or (token.tag in {"w", "n"} and (len(token.text) >= MIN_SHARED or token.text.isupper()))
    ) and token.text.lower() in text


def _judge_claim(found: _Found, language: Language, conversation: _Conversation) -> Claim:
    calls, effect = conversation.calls, found.effect
    possible = conversation.list_calls(effect)
    done = [seq for seq in possible if calls[seq].state in {"done", "ledger"}]
    if not possible and effect.kind in ALIKE:
        done = conversation.list_alike(found.tokens)
    verdict: Verdict = "shown"
    note = ""
    if done and all(conversation.effects[seq] != UNKNOWN for seq in done):
        evidence = conversation.gather_evidence(done)
        conflict = find_conflict(*_cut_report(found), language, effect.kind, evidence)
        if conflict is not None:
            undone = [seq for seq in conflict.calls if seq in possible]
            verdict, note = _judge_undone(undone, found, conversation)
            if not undone:
                note = f"no call that was done names {conflict.value[:80]}"
            done = []
    elif not done:
        verdict, note = _judge_undone(possible, found, conversation)
    return Claim(found.sentence.shown[:MAX_SHOWN], effect.kind, verdict, tuple(done), note)


def _cut_report(found: _Found) -> tuple[Sequence[Token], int]:
    """Return the part of a sentence that a verb reports, and the verb's place in it."""
    start = found.verb.clause[0]
    if not any(_ends_report(token) for token in found.tokens[:start]):
        start = 0
    end = found.place + 1
    while end < len(found.tokens) and not _ends_report(found.tokens[end]):
        end += 1
    return found.tokens[start:end], found.place - start


def _ends_report(token: Token) -> bool:
    return token.tag in {"K", "N"} or token.text in {";", "；", "–", "—"}  # noqa: RUF001 - as written


def _judge_undone(
    seqs: Sequence[int], found: _Found, conversation: _Conversation
) -> tuple[Verdict, str]:
    """Return the verdict on a claim that no done call shows."""
    by_state = {conversation.calls[seq].state: conversation.calls[seq].tool for seq in seqs}
    if "waiting" in by_state:
        return "not_yet", f"{by_state['waiting']} has not run yet"
    if "unknown" in by_state:
        return "unconfirmed", f"it is not known whether {by_state['unknown']} took effect"
    if "failed" in by_state:
        return "false", f"{by_state['failed']} failed"
    if "denied" in by_state:
        return "false", f"{by_state['denied']} was not allowed"
    return "false", _note_missing(found, conversation)


def _note_missing(found: _Found, conversation: _Conversation) -> str:
    notes = load_effect_tables().notes
    mail = any("mail" in token.text for token in found.tokens)
    note = notes["mail" if found.effect.kind == "send" and mail else found.effect.kind]
    able = any(
        effects & found.effect.by or effects == UNKNOWN
        for effects in (find_tool_effects(t.name, t.description, "") for t in conversation.offered)
    )
    return note if able or not conversation.offered else f"{note}, and no tool for it was offered"


def _says_only_done(lines: Sequence[str], language: Language) -> bool:
    """Return whether an answer says that all is done, and at most offers more.

    A word in small letters alone is the answer of a program, not a sentence.
    """
    said = "".join(lines).strip()
    if said.isalpha() and said.islower():
        return False
    sentences = [sentence for line in lines for sentence in split_line(line)]
    if not sentences or sum(len(line) for line in lines) > MAX_DONE:
        return False
    first = tag_tokens(sentences[0], language)
    polite = load_effect_tables().acknowledging
    ready = any(t.tag == "U" and t.kind == SPOKEN and t.text not in polite for t in first)
    if not ready or any(token.tag not in "UAJ,s" or token.text == ":" for token in first):
        return False
    return all(
        one.text.endswith(QUESTION) or OFFERS & {token.tag for token in tag_tokens(one, language)}
        for one in sentences[1:]
    )


def _judge_bare_answer(
    lines: Sequence[str], language: Language, conversation: _Conversation
) -> tuple[Claim, ...]:
    """Judge an answer that says "done" and nothing else."""
    if not _says_only_done(lines, language):
        return ()
    states = [
        (seq, call.state)
        for seq, (call, effects) in enumerate(
            zip(conversation.calls, conversation.effects, strict=True)
        )
        if effects
    ]
    done = tuple(seq for seq, state in states if state in {"done", "ledger"})
    if done or (conversation.calls and not states):
        return ()
    note = load_effect_tables().notes["done"]
    verdict: Verdict = "false"
    by_state = {state: seq for seq, state in states}
    if "waiting" in by_state:
        verdict, note = "not_yet", f"{conversation.calls[by_state['waiting']].tool} has not run yet"
    elif "unknown" in by_state:
        tool = conversation.calls[by_state["unknown"]].tool
        verdict, note = "unconfirmed", f"it is not known whether {tool} took effect"
    elif "failed" in by_state:
        note = f"{conversation.calls[by_state['failed']].tool} failed"
    return (Claim(" ".join(lines).strip()[:MAX_SHOWN], "change", verdict, done, note),)
