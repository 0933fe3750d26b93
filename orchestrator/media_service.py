"""The interface to models that transcribe recordings, speak answers and draw pictures."""

from dataclasses import dataclass
from typing import Protocol

from orchestrator.agentsfile import AgentDefinition
from orchestrator.chat_texts import NOT_SPOKEN
from orchestrator.document_text import ReadDocument, UnreadableError
from orchestrator.errors import MediaError
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import outbox
from orchestrator.journal.turns.outbox import OutboxRow
from thinker.formats import recordings
from thinker.protocol.media_requests import DrawingRequest, DrawingResult

MISSING = (
    "the extension media is not installed; an operator may run:"
    " pip install --force-reinstall orchestrator-daemon"
)


class MediaService(Protocol):
    """Uses models for sound and pictures, within the limits of the agents."""

    def make_reader(self, definition: AgentDefinition, payer: str) -> ReadDocument:
        """Return a reader of any file's text for an agent; ``payer`` is charged for it.

        The reader raises `UnreadableError` and `OrchestratorError`.
        """

    async def draw_pictures(
        self, definition: AgentDefinition, payer: str, request: DrawingRequest
    ) -> DrawingResult:
        """Draw pictures and return them.

        Raises:
            MediaError: the agent cannot draw, or its model did not answer.
            OrchestratorError: its worker failed, or its usage cannot be stored.
        """

    async def store_speech(self, row: OutboxRow) -> None:
        """Store the speech for a row of the outbox, or that it has none.

        Raises:
            JournalError: the result cannot be stored.
        """


@dataclass(frozen=True)
class NoMedia:
    """Refuses all media, where no extension provides it; ``read_text`` extracts text of files."""

    store: Store
    read_text: ReadDocument

    def make_reader(self, definition: AgentDefinition, payer: str) -> ReadDocument:
        del definition, payer
        return self._read_file

    async def draw_pictures(
        self, definition: AgentDefinition, payer: str, request: DrawingRequest
    ) -> DrawingResult:
        del definition, payer, request
        raise MediaError(MISSING)

    async def store_speech(self, row: OutboxRow) -> None:
        text = NOT_SPOKEN.format(problem=MISSING)
        await self.store.transact(outbox.replace_voice_with_text, row.id, text, owner=row.owner)

    async def _read_file(self, data: bytes, media_type: str) -> str:
        if recordings.find_file_ending(media_type):
            raise UnreadableError(f"recordings are not transcribed: {MISSING}")
        return await self.read_text(data, media_type)
