"""Suspended turns: how an open turn waits without a worker, and goes on.

A suspended turn holds nothing but its row in the journal. It goes on as a crashed turn does: a
worker resumes it from its recorded steps.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from orchestrator import chat_texts
from orchestrator.errors import QuarantinedError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import outbox, subagents, turns, usage
from orchestrator.journal.turns.turns import Turn
from orchestrator.outbound.delivery import Delivery
from orchestrator.processes.supervisor import Supervisor
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.toolcalls.approvals import ApprovalQueue
from orchestrator.toolcalls.executor import ApprovalNeeded, HandoffDone, ToolPending
from orchestrator.turns.outcomes import AgentPaused, AgentQuarantined, Drained, Reason
from orchestrator.wakeup import Wakeup

log = structlog.get_logger()


@dataclass(frozen=True)
class TurnSuspension:
    """Waits for turns. ``turn_ended`` is woken whenever a turn of any chat has ended."""

    store: Store
    supervisor: Supervisor
    delivery: Delivery
    approvals: ApprovalQueue
    guard: SpendingGuard
    turn_ended: Wakeup
    clock: Callable[[], int]

    @property
    def stopping(self) -> bool:
        """Whether the daemon is stopping, so that open turns are left to the next process."""
        return self.supervisor.stopping

    async def wait(self, turn: Turn, reason: Reason) -> None:
        """Wait until the reason is over, or the daemon stops."""
        match reason:
            case ApprovalNeeded(approval):
                async with self._parked(turn, "approval"):
                    await self.approvals.answered(approval)
            case AgentPaused():
                async with self._parked(turn, "budget"):
                    await self.guard.resumed(turn.agent_id)
            case ToolPending(seq):
                async with self._parked(turn, "child"):
                    await self._subagent_ended(turn, seq)
            case AgentQuarantined(error, again):
                await self._available(turn, error, notify=not again)
            case Drained():
                await self.store.transact(usage.release, turn.id)
            case HandoffDone():
                pass  # another agent goes on at once

    @asynccontextmanager
    async def _parked(self, turn: Turn, why: str) -> AsyncIterator[None]:
        """Keep the turn in the state ``waiting(why)``, with its reservation released."""

        def park(db: Database) -> None:
            usage.release(db, turn.id)
            turns.park(db, turn, why)

        await self.store.transact(park)
        self.delivery.wake()
        yield
        if not self.stopping:
            await self.store.transact(turns.unpark, turn, self.clock())

    async def _subagent_ended(self, turn: Turn, seq: int) -> None:
        async def ended() -> bool:
            run = await self.store.transact(subagents.of_call, turn.id, seq)
            return run is None or run.ended

        await self.turn_ended.until(ended)

    async def _available(self, turn: Turn, error: QuarantinedError, *, notify: bool) -> None:
        log.warning("turn_waits", problem=str(error))
        if notify:
            await self.store.transact(_tell, turn, chat_texts.QUARANTINE, self.clock())
            self.delivery.wake()
        await self.supervisor.available(turn.agent_id)
        await self.store.transact(turns.extend, turn, self.clock())


def _tell(db: Database, turn: Turn, text: str, now: int) -> None:
    outbox.add_notice(db, turns.origin(db, turn.id).address(), text, now)
