"""Fetch and read the files of admitted messages, before a model sees them.

Where: is an attachment downloaded?
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import anyio
import structlog

from orchestrator.channel_api import MAX_FILE, Adapter, SendError, SendOutcome
from orchestrator.document_text import ReadDocument, UnreadableError
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import attachments, stored_files
from orchestrator.journal.turns.attachments import ExtractedText, UnreadFile
from thinker.formats.images import MEDIA_TYPES

TRIES = 3
PAUSE = 1.0  # seconds before the second try, twice that before the third
TIMEOUT = 60.0  # seconds for one file; its message waits meanwhile
log = structlog.get_logger()


@dataclass(frozen=True)
class AttachmentFetcher:
    """Fetches files through the channels' adapters.

    A file that cannot be fetched is recorded as missing, and the model is told. ``clock`` returns
    milliseconds since the epoch.
    """

    store: Store
    adapters: Mapping[str, Adapter]
    clock: Callable[[], int]

    async def fetch_files(self, files: Iterable[UnreadFile], read: ReadDocument) -> None:
        """Fetch files and extract their text with ``read``, on behalf of the agent."""
        for file in files:
            data = await self._download_file(file)
            text = None if data is None else await self._extract_text(file, data, read)
            await self.store.transact(
                attachments.store_fetched_file, file, data, self.clock(), text
            )

    async def _extract_text(
        self, file: UnreadFile, data: bytes, read: ReadDocument
    ) -> ExtractedText | None:
        kind = stored_files.detect_media_type(file.name, data)
        if kind in MEDIA_TYPES or not file.name:
            return None
        try:
            return ExtractedText(await read(data, kind))
        except (UnreadableError, OSError) as error:
            return ExtractedText(None, str(error))

    async def _download_file(self, file: UnreadFile) -> bytes | None:
        if file.media_id is not None:
            return await self.store.read(stored_files.load_content, file.media_id)
        adapter = self.adapters.get(file.channel)
        if adapter is None:
            return None
        with anyio.move_on_after(TIMEOUT):
            for attempt in range(1, TRIES + 1):
                try:
                    return await adapter.download(file.handle, MAX_FILE)
                except SendError as error:
                    log.warning("file_not_fetched", attempt=attempt, problem=str(error))
                    if error.outcome is SendOutcome.PERMANENT or attempt == TRIES:
                        return None
                    await anyio.sleep(error.retry_after or PAUSE * attempt)
        return None
