"""Give an answer its receipt, inside the transaction that ends its turn (T6).

Where: is an answer marked because it claims what was not done?
"""

from orchestrator.agentsfile import AgentDefinition
from orchestrator.installed import find_installed
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import receipts
from orchestrator.journal.turns.receipts import JudgedAnswer
from orchestrator.journal.turns.turns import Turn
from thinker.protocol.methods import StopReason, TurnResult

ANSWERED = frozenset({StopReason.DONE, StopReason.MAX_STEPS, StopReason.LENGTH})


def add_receipt(
    db: Database, turn: Turn, definition: AgentDefinition | None, result: TurnResult
) -> TurnResult:
    """Store the receipt of an answer that claims something; return the result with its marks."""
    if definition is None or result.notice or result.stop_reason not in ANSWERED:
        return result
    for extension in find_installed().own.values():
        judged: JudgedAnswer | None = extension.judge_answer(db, turn, definition, result.text)
        if judged is not None:
            receipts.store_receipt(db, turn.id, judged.receipt)
            text = "\n\n".join([result.text.rstrip(), *judged.marks]) if judged.marks else None
            return result.model_copy(
                update={"text": text or result.text, "error": result.error or judged.error}
            )
    return result
