"""Suspended turns: wait for a reason without a worker, then continue.

A suspended turn holds nothing but its row in the journal. It continues like a crashed turn: a
worker resumes it from its recorded steps.

Where: does a turn wait for an approval or a subagent?
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
from orchestrator.turns.outcomes import AgentPaused, AgentQuarantined, Reason, WorkerDrained
from orchestrator.wakeup import Wakeup

log = structlog.get_logger()


@dataclass(frozen=True)
class TurnSuspension:
    """Waits on behalf of turns; ``turn_ended`` is woken whenever any turn has ended."""

    store: Store
    supervisor: Supervisor
    delivery: Delivery
    approvals: ApprovalQueue
    guard: SpendingGuard
    turn_ended: Wakeup
    clock: Callable[[], int]

    @property
    def is_stopping(self) -> bool:
        """Whether the daemon is stopping, so that open turns are left to the next process."""
        return self.supervisor.stopping

    async def wait_for_reason(self, turn: Turn, reason: Reason) -> None:
        """Wait until the reason is over or the daemon stops."""
        match reason:
            case ApprovalNeeded(approval):
                async with self._park_turn(turn, "approval"):
                    await self.approvals.wait_for_answer(approval)
            case AgentPaused():
                async with self._park_turn(turn, "budget"):
                    await self.guard.wait_until_resumed(turn.agent_id)
            case ToolPending(seq):
                async with self._park_turn(turn, "child"):
                    await self._wait_for_subagent(turn, seq)
            case AgentQuarantined(error, again):
                await self._wait_for_agent(turn, error, notify=not again)
            case WorkerDrained():
                await self.store.transact(usage.release_reservation, turn.id)
            case HandoffDone():
                pass  # another agent continues immediately

    @asynccontextmanager
    async def _park_turn(self, turn: Turn, why: str) -> AsyncIterator[None]:
        """Keep the turn in the state ``waiting(why)``, with its reservation released."""

        def park(db: Database) -> None:
            usage.release_reservation(db, turn.id)
            turns.park(db, turn, why)

        await self.store.transact(park)
        self.delivery.wake()
        yield
        if not self.is_stopping:
            await self.store.transact(turns.unpark, turn, self.clock())

    async def _wait_for_subagent(self, turn: Turn, seq: int) -> None:
        async def has_ended() -> bool:
            run = await self.store.transact(subagents.find_run_of_call, turn.id, seq)
            return run is None or run.has_ended

        await self.turn_ended.wait_until(has_ended)

    async def _wait_for_agent(self, turn: Turn, error: QuarantinedError, *, notify: bool) -> None:
        log.warning("turn_waits", problem=str(error))
        if notify:
            await self.store.transact(_queue_notice, turn, chat_texts.QUARANTINE, self.clock())
            self.delivery.wake()
        await self.supervisor.wait_until_available(turn.agent_id)
        await self.store.transact(turns.extend_deadline, turn, self.clock())


def _queue_notice(db: Database, turn: Turn, text: str, now: int) -> None:
    outbox.add_notice(db, turns.load_opening_message(db, turn.id).build_address(), text, now)
