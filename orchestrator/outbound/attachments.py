"""Fetch the files that came with admitted messages, before a model sees the messages."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import anyio
import structlog

from orchestrator.channel_api import MAX_FILE, Adapter, SendError, SendOutcome
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import attachments
from orchestrator.journal.turns.attachments import Wanted

TRIES = 3
PAUSE = 1.0  # seconds before the second try, twice that before the third
TIMEOUT = 60.0  # seconds for one file; its message waits meanwhile
log = structlog.get_logger()


@dataclass(frozen=True)
class AttachmentFetcher:
    """Fetches files through the channels' adapters.

    A file that cannot be fetched is recorded as missing, and the model learns of it.
    ``clock`` returns milliseconds since the epoch.
    """

    store: Store
    adapters: Mapping[str, Adapter]
    clock: Callable[[], int]

    async def fetch(self, files: Iterable[Wanted]) -> None:
        for file in files:
            data = await self._data(file)
            await self.store.transact(attachments.fetched, file, data, self.clock())

    async def _data(self, file: Wanted) -> bytes | None:
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
