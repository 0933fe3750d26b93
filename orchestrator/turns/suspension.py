"""Why an open turn is with no worker: a quarantine, a word, a pause, or work of a subagent.

A turn that waits holds nothing but its row in the journal; it goes on as if it were resumed.
"""

import apsw
import structlog

from orchestrator import chat_texts
from orchestrator.errors import QuarantinedError
from orchestrator.journal.turns import outbox, subagents, turns, usage
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.turns import Turn
from orchestrator.turns.turn_inputs import TurnServices

log = structlog.get_logger()


class TurnSuspension:
    """The waits of one turn. Each tells whether the turn is to be left open, as we are stopping."""

    def __init__(self, services: TurnServices, turn: Turn) -> None:
        self._services = services
        self._turn = turn
        self._told_quarantine = False

    async def out_quarantine(self, error: QuarantinedError) -> None:
        """Until the agent may be tried again; its chat is told once."""
        services = self._services
        log.warning("turn_waits", problem=str(error))
        if not self._told_quarantine:
            self._told_quarantine = True
            await services.store.transact(self._tell, chat_texts.QUARANTINE)
            services.delivery.wake()
        await services.supervisor.available(self._turn.agent_id)
        await services.store.transact(turns.extend, self._turn, services.clock())

    async def for_word(self, question: Approval) -> bool:
        """Until the operator answers."""
        await self._park("approval")
        await self._services.desk.answered(question)
        return await self._unpark()

    async def for_resume(self) -> bool:
        """Until the agent goes on."""
        await self._park("budget")
        await self._services.gate.resumed(self._turn.agent_id)
        return await self._unpark()

    async def for_work(self, seq: int) -> bool:
        """Until what a call of the turn has a subagent do has ended."""

        async def ended() -> bool:
            run = await self._services.store.transact(subagents.of_call, self._turn.id, seq)
            return run is None or run.ended

        await self._park("child")
        await self._services.ends.until(ended)
        return await self._unpark()

    async def for_nothing(self) -> bool:
        """The turn goes on at once, with another agent."""
        return self._services.supervisor.stopping

    async def _park(self, why: str) -> None:
        def park(db: apsw.Connection) -> None:
            usage.release(db, self._turn.id)
            turns.park(db, self._turn, why)

        await self._services.store.transact(park)
        self._services.delivery.wake()

    async def _unpark(self) -> bool:
        if self._services.supervisor.stopping:
            return True
        await self._services.store.transact(turns.unpark, self._turn, self._services.clock())
        return False

    def _tell(self, db: apsw.Connection, text: str) -> None:
        outbox.add_notice(
            db, turns.origin(db, self._turn.id).address(), text, self._services.clock()
        )
