"""Write the receipt of an answer from the journal, inside the transaction that ends its turn."""

from collections.abc import Sequence

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.extensions.receipts.judge import Claim, TurnEvidence, find_claims
from orchestrator.extensions.receipts.receipt_settings import ReceiptFields
from orchestrator.extensions.receipts.recorded_calls import RecordedEvidence, load_evidence
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import subagents
from orchestrator.journal.turns.receipts import (
    AnswerReceipt,
    EvidentCall,
    JudgedAnswer,
    ReceiptClaim,
)
from orchestrator.journal.turns.turns import Turn

OF_TASKS, OF_PROGRAMS = "proactive", "request"  # kinds of turns
MAX_CLAIMS = 20  # of a receipt
MAX_SENTENCE = 300  # characters of a claim that are kept
MAX_MARKS = 3  # lines below an answer
MORE = "⚠️ {more} more of what this says is not confirmed."
FAILED = "its answer claims what was not done: {notes}"


def judge_answer(
    db: Database, turn: Turn, definition: AgentDefinition, text: str
) -> JudgedAnswer | None:
    """Return the receipt of an answer and the lines to add below it; None if it claims nothing."""
    mode = definition.get_fields(ReceiptFields).receipts
    if mode == "off":
        return None
    loaded: list[RecordedEvidence] = []

    def load() -> TurnEvidence | None:
        loaded.append(load_evidence(db, turn))
        # What a program does with its own tools is not in the journal.
        return None if loaded[0].handed_back else loaded[0].build_facts()

    found = find_claims(text, load)
    if found is None:
        return None
    claims = [_record_claim(claim, loaded[0]) for claim in found[0][:MAX_CLAIMS]]
    doubted = _list_notes(db, claims, turn.id)
    quiet = turn.recipe == OF_PROGRAMS and mode != "on"  # a program may parse the text
    error = None
    if turn.recipe == OF_TASKS and any(claim.verdict == "false" for claim in claims):
        error = FAILED.format(notes="; ".join(doubted))
    marks = () if quiet else _format_marks(doubted)
    return JudgedAnswer(AnswerReceipt(claims=tuple(claims)), marks, error)


def _record_claim(claim: Claim, evidence: RecordedEvidence) -> ReceiptClaim:
    effects = [evidence.effects[place] for place in claim.seqs]
    return ReceiptClaim(
        text=claim.text[:MAX_SENTENCE],
        kind=claim.kind,
        verdict=claim.verdict,
        note=claim.note,
        calls=tuple(
            EvidentCall(turn_id=one.turn_id, seq=one.seq, tool=one.tool) for one in effects
        ),
    )


def _list_notes(db: Database, claims: Sequence[ReceiptClaim], turn_id: str) -> list[str]:
    """Return why claims are not shown, each reason once.

    A call whose outcome is unknown has a line of its own below the answer of its turn.
    """
    doubted = [claim for claim in claims if claim.verdict != "shown"]
    if any(claim.verdict == "unconfirmed" for claim in doubted) and (
        subagents.list_unconfirmed_tools_of_runs(db, turn_id)
    ):
        doubted = [claim for claim in doubted if claim.verdict != "unconfirmed"]
    return list(dict.fromkeys(claim.note for claim in doubted))


def _format_marks(notes: Sequence[str]) -> tuple[str, ...]:
    marks = [chat_texts.NOT_CONFIRMED.format(note=note) for note in notes[:MAX_MARKS]]
    more = len(notes) - MAX_MARKS
    return (*marks, *([MORE.format(more=more)] if more > 0 else []))
