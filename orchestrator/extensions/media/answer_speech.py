"""Speak answers: make the sound of an outbox row when it is due.

The text was sent before. A row with stored sound is sent like any other file; one that cannot be
spoken becomes a sentence that says so.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.chat_texts import NOT_SPOKEN
from orchestrator.errors import JournalError, MediaError, OrchestratorError
from orchestrator.extensions.media.media_calls import MediaCalls
from orchestrator.extensions.media.sound_requests import SpeechResult
from orchestrator.failpoints import failpoint
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox, stored_files, turns
from orchestrator.journal.turns.outbox import OutboxRow
from orchestrator.loop_bound import LoopBound
from thinker.formats import recordings

TRIES = 3  # if the process ends meanwhile
PAUSE = 1.0  # seconds between them
AFTER_STOP = 1000  # milliseconds until a row left by a stopping daemon is retried


@dataclass(eq=False)
class AnswerSpeech(LoopBound):
    """Makes the sound of rows; ``clock`` returns milliseconds since the epoch."""

    media: MediaCalls
    agents: Callable[[], AgentsFile]
    clock: Callable[[], int]
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep

    async def store_speech(self, row: OutboxRow) -> None:
        """Store the sound of a row, or that it has none.

        Raises:
            JournalError: the result cannot be stored.
        """
        store = self.media.calls.store
        agent_id = await store.read(_find_agent_id, row)
        definition = self.agents().find_agent(agent_id)
        problem = "the agent was removed"
        for attempt in range(1, TRIES + 1):
            if definition is None:
                break
            try:
                failpoint("speech:before")
                sound = await self._speak_row(definition, row)
            except JournalError:
                raise
            except MediaError as error:
                problem = str(error)
                break
            except OrchestratorError as error:  # the worker ended, or cannot start
                problem = "the agent's process does not run"
                if self.media.calls.supervisor.stopping:
                    later = self.clock() + AFTER_STOP
                    await store.transact(outbox.requeue, row.id, str(error), later, owner=row.owner)
                    return
                if attempt < TRIES:
                    await self.sleep(PAUSE)
            else:
                failpoint("speech:after")
                await store.transact(_store_sound, row, sound, self.clock(), owner=row.owner)
                return
        text = NOT_SPOKEN.format(problem=problem)
        await store.transact(outbox.replace_voice_with_text, row.id, text, owner=row.owner)

    async def _speak_row(self, definition: AgentDefinition, row: OutboxRow) -> SpeechResult:
        return await self.media.speak_text(definition, definition.agent_id, row.body)


def _find_agent_id(db: Database, row: OutboxRow) -> str:
    return "" if row.turn_id is None else turns.load_turn(db, row.turn_id).agent_id


def _store_sound(db: Database, row: OutboxRow, sound: SpeechResult, now: int) -> None:
    media_id = stored_files.store_file(db, sound.data, sound.media_type, now)
    name = f"answer{recordings.find_file_ending(sound.media_type)}"
    outbox.store_voice_file(db, row.id, media_id, name)
