"""The judge of answers, asked for as little as an answer needs."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import orjson

from orchestrator.extensions.receipts.judging import (
    Claim,
    JudgedCall,
    KnownTool,
    judge_read_answer,
    load_tables,
    read_answer,
)

__all__ = [
    "CallState",
    "Claim",
    "JudgedCall",
    "KnownTool",
    "TurnEvidence",
    "find_claims",
    "load_tables",
]
CallState: TypeAlias = Literal["done", "failed", "denied", "unknown", "waiting", "ledger"]
MAX_TEXT = 20_000  # characters of an answer that are judged
MAX_DETAIL = 20_000  # characters of the arguments or of the result of a call that are looked at
MAX_CALLS = 300  # the newest ones
JSON_OPENS = ("{", "[")


class TurnEvidence(NamedTuple):
    """The calls that a conversation has made, oldest first, and the tools of its last turn."""

    calls: Sequence[JudgedCall]
    offered: Sequence[KnownTool]


def find_claims(
    text: str, load_evidence: Callable[[], TurnEvidence | None]
) -> tuple[tuple[Claim, ...], TurnEvidence] | None:
    """Return the claims of an answer with the evidence; None if it claims nothing.

    The evidence is loaded only for an answer that claims something. Without it, nothing can be
    judged. JSON is for programs and not judged.
    """
    answer = read_answer(text[:MAX_TEXT])
    if answer is None or not judge_read_answer(answer, (), ()) or _is_json(text):
        return None
    evidence = load_evidence()
    if evidence is None:
        return None
    claims = judge_read_answer(answer, evidence.calls, evidence.offered)
    return (claims, evidence) if claims else None


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(JSON_OPENS):
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True
