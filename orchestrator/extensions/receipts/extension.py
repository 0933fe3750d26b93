"""The extension for receipts: answers held against what was called."""

from typing import TYPE_CHECKING

from orchestrator.extension import Extension

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentDefinition, ConfigModel
    from orchestrator.journal.db.database import Database
    from orchestrator.journal.turns.receipts import JudgedAnswer
    from orchestrator.journal.turns.turns import Turn


class ReceiptsExtension(Extension):
    """Compares what answers claim to have done with the journal."""

    name = "receipts"

    def get_agent_model(self) -> "type[ConfigModel]":
        from orchestrator.extensions.receipts.receipt_settings import ReceiptFields

        return ReceiptFields

    def judge_answer(
        self, db: "Database", turn: "Turn", definition: "AgentDefinition", text: str
    ) -> "JudgedAnswer | None":
        from orchestrator.extensions.receipts.receipt_writing import judge_answer

        return judge_answer(db, turn, definition, text)
