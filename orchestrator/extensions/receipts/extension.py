"""The extension for receipts: answers held against what was called."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from orchestrator.extension import DaemonView, Extension, Finding, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentDefinition, AgentsFile, ConfigModel
    from orchestrator.control.protocol import StatusReport
    from orchestrator.journal.db.database import Database
    from orchestrator.journal.turns.receipts import JudgedAnswer
    from orchestrator.journal.turns.turns import Turn
    from orchestrator.settings import Settings


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

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> Iterator[Finding]:
        del file, status
        from orchestrator.extensions.receipts.receipt_counts import describe_counts

        found = describe_counts(settings.journal)
        if found:
            yield Finding("receipts", found)

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.receipts.receipts_part import ReceiptsPart

        return ReceiptsPart(daemon)
