"""The daemon's job that indexes what was said, so that a search finds little left to index."""

import anyio

from orchestrator.errors import JournalError
from orchestrator.extensions.memory import message_index
from orchestrator.journal.db.store import Store, retry_later
from orchestrator.loop_bound import LoopBound
from orchestrator.wakeup import Wakeup

REPLIES = 12  # after which their messages are indexed together, as each transaction has its price
PATIENCE = 10.0  # seconds that a search waits for the index: some 200,000 messages
PAUSE = 0.02  # seconds between two parts of an earlier journal, in which others may write


class MessageIndexer(LoopBound):
    """Indexes messages until cancelled: those of an earlier version first, and then new ones."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._wakeup = Wakeup()
        self._replies = 0

    def count_reply(self, _: str) -> None:
        """Index the messages of replies, once there are `REPLIES`."""
        self._replies += 1
        if self._replies % REPLIES == 0:
            self._wakeup.wake()

    async def run(self) -> None:
        while True:
            changed = self._wakeup.changed
            try:
                if await self._store.transact(message_index.fill_index):
                    await anyio.sleep(PAUSE)
                    continue
                await index_new_messages(self._store)
            except JournalError as error:
                await retry_later(error)
                continue
            await changed.wait()


async def index_before_search(store: Store) -> bool:
    """Index messages in short transactions; return False if `PATIENCE` was too short for it.

    While an earlier index answers for its messages, only newer ones are indexed.
    """
    with anyio.move_on_after(PATIENCE):
        while await store.read(message_index.has_unfound_messages):
            await store.transact(message_index.fill_index)
        await index_new_messages(store)
        return True
    return False


async def index_new_messages(store: Store) -> None:
    """Index what was said since the last call, in short transactions."""
    while upto := await store.read(message_index.find_new_messages):
        await store.transact(message_index.index_new_messages, upto)
