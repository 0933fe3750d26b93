"""Hold the last answer of a turn against the calls of its conversation."""

from orchestrator.extensions.receipts.judge import load_tables
from orchestrator.extensions.receipts.worker.transcript_judge import TranscriptJudge
from thinker.extension import AnswerJudge, WorkerExtension
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.methods import TurnRun


class ReceiptsWorker(WorkerExtension):
    """Judges answers of agents with ``"receipts": "on"``."""

    def prepare_worker(self, settings: ThinkerSettings) -> None:
        if settings.receipts == "on":
            load_tables()

    def build_answer_judge(self, settings: ThinkerSettings, turn: TurnRun) -> AnswerJudge | None:
        del turn
        return TranscriptJudge() if settings.receipts == "on" else None
