"""Speak answers: the sound of a row of the outbox, made when its turn to be sent comes.

The text was sent before it. A row whose sound is in the journal is sent like any other file; one
that cannot be spoken becomes a sentence that says so.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.chat_texts import NOT_SPOKEN
from orchestrator.errors import JournalError, MediaError, OrchestratorError
from orchestrator.failpoints import failpoint
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox, stored_files, turns
from orchestrator.journal.turns.outbox import OutboxRow
from orchestrator.loop_owned import LoopOwned
from orchestrator.media.media_calls import MediaCalls
from thinker.formats import recordings
from thinker.protocol.media_requests import Spoken

TRIES = 3  # in processes that end meanwhile
PAUSE = 1.0  # seconds between them
AFTER_STOP = 1000  # milliseconds until a row is looked at again that the stop of the daemon left


@dataclass(eq=False)
class AnswerSpeech(LoopOwned):
    """Gives rows their sound. ``clock`` returns milliseconds since the epoch."""

    media: MediaCalls
    agents: Callable[[], AgentsFile]
    clock: Callable[[], int]
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep

    async def make(self, row: OutboxRow) -> None:
        """Store the sound of a row, or that it is not spoken.

        Raises:
            JournalError: it cannot be stored.
        """
        store = self.media.calls.store
        agent_id = await store.read(_agent_of, row)
        definition = self.agents().agent(agent_id)
        problem = "the agent is gone"
        for attempt in range(1, TRIES + 1):
            if definition is None:
                break
            try:
                failpoint("speech:before")
                sound = await self._spoken(definition, row)
            except JournalError:
                raise
            except MediaError as error:
                problem = str(error)
                break
            except OrchestratorError as error:  # its process ended, or cannot start
                problem = "the agent's process does not run"
                if self.media.calls.supervisor.stopping:
                    later = self.clock() + AFTER_STOP
                    await store.transact(outbox.requeue, row.id, str(error), later)
                    return
                if attempt < TRIES:
                    await self.sleep(PAUSE)
            else:
                failpoint("speech:after")
                await store.transact(_keep, row, sound, self.clock())
                return
        await store.transact(outbox.unspoken, row.id, NOT_SPOKEN.format(problem=problem))

    async def _spoken(self, definition: AgentDefinition, row: OutboxRow) -> Spoken:
        return await self.media.speak(definition, definition.agent_id, row.body)


def _agent_of(db: Database, row: OutboxRow) -> str:
    return "" if row.turn_id is None else turns.load(db, row.turn_id).agent_id


def _keep(db: Database, row: OutboxRow, sound: Spoken, now: int) -> None:
    media_id = stored_files.keep(db, sound.data, sound.media_type, now)
    name = f"answer{recordings.ending_of(sound.media_type)}"
    outbox.voiced(db, row.id, media_id, name)
