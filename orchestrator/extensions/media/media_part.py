"""The media service in a daemon."""

from dataclasses import dataclass

from orchestrator.agentsfile import AgentDefinition
from orchestrator.document_text import ReadDocument
from orchestrator.extension import Part
from orchestrator.extensions.media.answer_speech import AnswerSpeech
from orchestrator.extensions.media.media_calls import MediaCalls
from orchestrator.journal.turns.outbox import OutboxRow
from thinker.protocol.media_requests import DrawingRequest, DrawingResult


@dataclass(frozen=True)
class Media:
    """Makes a daemon's media calls (`orchestrator.media_service.MediaService`)."""

    calls: MediaCalls
    speech: AnswerSpeech

    def make_reader(self, definition: AgentDefinition, payer: str) -> ReadDocument:
        return self.calls.make_reader(definition, payer)

    async def draw_pictures(
        self, definition: AgentDefinition, payer: str, request: DrawingRequest
    ) -> DrawingResult:
        return await self.calls.draw_pictures(definition, payer, request)

    async def store_speech(self, row: OutboxRow) -> None:
        await self.speech.store_speech(row)


class MediaPart(Part):
    """Provides the daemon's media service."""

    def build_media_service(self) -> Media:
        daemon = self.daemon
        calls = MediaCalls(daemon.calls, daemon.machine.document_text)
        return Media(calls, AnswerSpeech(calls, daemon.get_agents_file, daemon.machine.clock))
