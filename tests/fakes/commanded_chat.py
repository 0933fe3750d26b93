"""A chat whose commands are answered, from the channel's message to the answer in the outbox."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fakes.agents_file import validate_file
from fakes.commands import NoQueues, command_desk, no_notice
from fakes.journal import connection_in, next_turn, store_in, update

from orchestrator.channel_api import InboundMessage
from orchestrator.inbound.intake import JournalIntake
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns import outbox, turns

OPERATOR, STRANGER = "7", "8"
AGENTS = validate_file(
    {
        "agents": [
            {"agentId": "work", "llmProvider": "demo"},
            {"agentId": "home", "llmProvider": "demo"},
        ],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
        "channels": {"telegram": {"access": "open", "allowlist": [OPERATOR]}},
    }
)
NOW = 1_770_000_000_000


class Chat:
    """A chat and its daemon's intake; ``stopped`` are the turns that commands canceled."""

    def __init__(self, db: Database, store: Store) -> None:
        self.db = db
        self.stopped: list[str] = []
        commands = command_desk(store, lambda: AGENTS, self.stopped.extend, lambda: NOW)
        self._intake = JournalIntake(
            store, lambda: AGENTS, no_notice, NoQueues(), lambda: None, commands, lambda: NOW
        )
        self._number = 0

    async def hears(self, *messages: InboundMessage) -> None:
        """T1 of one batch."""
        await self._intake.accept(messages, 100)

    async def says(self, text: str, chat: str = OPERATOR) -> str:
        """What a message is answered with at once; nothing if it waits for an agent."""
        self._number += 1
        await self.hears(update(self._number, text, chat))
        return "\n".join(outbox.list_notices_to(self.db, f"telegram/1/{chat}/", str(self._number)))

    async def begins(self, text: str) -> None:
        """A turn ``t1`` answers this message of the operator."""
        turns.boot(self.db, NOW)
        assert await self.says(text) == ""
        assert next_turn(self.db, "t1", OPERATOR) is not None


@asynccontextmanager
async def chat_in(folder: Path) -> AsyncIterator[Chat]:
    """A journal and a way into it."""
    store = store_in(folder)
    db = connection_in(folder)
    try:
        yield Chat(db, store)
        assert invariants.check_invariants(db) == []
    finally:
        db.close()
        store.close()
