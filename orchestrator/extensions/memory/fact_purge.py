"""Delete what was forgotten a day ago, until when it could be restored.

Where: are forgotten facts deleted?
"""

from collections.abc import Callable

import anyio

from orchestrator.errors import JournalError
from orchestrator.extensions.memory import fact_changes
from orchestrator.journal.db.store import Store, report_failure

PAUSE = 3600.0  # seconds between two looks


async def purge_forgotten_facts(store: Store, clock: Callable[[], int]) -> None:
    """Delete such facts, some in each transaction, until cancelled.

    ``clock`` returns milliseconds since the epoch.
    """
    while True:
        try:
            while await store.transact(fact_changes.purge_forgotten, clock()):
                pass
        except JournalError as error:
            report_failure(error)
        await anyio.sleep(PAUSE)
