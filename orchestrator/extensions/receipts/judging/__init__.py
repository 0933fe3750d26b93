"""Find what an answer claims to have done, and whether calls show it; a stand-in for English."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

NOUNS = {"send": "mail was sent", "write": "file was written", "pay": "payment was made"}
STEMS = {
    "send": r"sent|e-?mailed",
    "write": r"written|saved|wrote",
    "delete": r"deleted|removed",
    "schedule": r"scheduled|booked",
    "pay": r"paid|transferred",
}
TOOLS = {
    "send": r"send|mail|post",
    "write": r"write|save|create|append",
    "delete": r"delete|remove",
    "schedule": r"schedule|book|create_event",
    "pay": r"pay|transfer",
}
CLAIM = re.compile(
    r"^(?:I(?:'ve| have)?|[A-Z][\w-]*(?: was| is)?) (?:already )?"
    rf"(?P<verb>{'|'.join(STEMS.values())})\b"
)
Verdict: TypeAlias = Literal["shown", "false", "unconfirmed", "not_yet"]
STATES: dict[Verdict, tuple[str, ...]] = {
    "shown": ("done", "ledger"),
    "unconfirmed": ("unknown",),
    "not_yet": ("waiting",),
}
SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")


class JudgedCall(NamedTuple):
    """A call that the conversation has made."""

    tool: str
    description: str
    arguments: str
    result: str
    state: Literal["done", "failed", "denied", "unknown", "waiting", "ledger"]


class Claim(NamedTuple):
    """A sentence that reports an effect; ``seqs`` are places of the calls that show it."""

    text: str
    kind: str
    verdict: Literal["shown", "false", "unconfirmed", "not_yet"]
    seqs: tuple[int, ...]
    note: str


class KnownTool(NamedTuple):
    """A tool that the model could have called."""

    name: str
    description: str


def load_tables() -> None:
    """Read all tables; this one has them in its code."""


def judge_answer(
    text: str, calls: Sequence[JudgedCall], offered: Sequence[KnownTool]
) -> tuple[Claim, ...]:
    """Return the claims of an answer, each held against the calls."""
    del offered
    sentences = (found.group().strip() for found in SENTENCE.finditer(text))
    made = ((one, CLAIM.match(one)) for one in sentences)
    return tuple(_judge(one, found["verb"], calls) for one, found in made if found is not None)


def _judge(sentence: str, verb: str, calls: Sequence[JudgedCall]) -> Claim:
    kind = next(kind for kind, stems in STEMS.items() if re.fullmatch(stems, verb))
    alike = [n for n, call in enumerate(calls) if re.search(TOOLS[kind], call.tool)]
    for verdict, states in STATES.items():
        found = tuple(n for n in alike if calls[n].state in states)
        if found:
            note = "" if verdict == "shown" else f"{calls[found[-1]].tool} has no known outcome"
            return Claim(sentence, kind, verdict, found, note)
    note = f"no {NOUNS.get(kind, kind)} in this conversation"
    return Claim(sentence, kind, "false", (), note)
