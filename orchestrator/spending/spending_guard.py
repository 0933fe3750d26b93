"""Pause and resume agents, and let those wait that are paused or exceed their limits.

Messages of a paused agent stay new; its open turns wait between two steps. `SpendingRules` decides.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import anyio

from orchestrator.agentsfile import AgentsFile
from orchestrator.broker.broker_wire import CallEnded
from orchestrator.errors import JournalError
from orchestrator.journal.db.store import Store, report_failure
from orchestrator.journal.turns import pauses
from orchestrator.spending.spending_rules import RECHECK, SpendingRules, UnnamedCall
from orchestrator.wakeup import Wakeup


@dataclass(eq=False)
class SpendingGuard(Wakeup):
    """Gives transactions the rules in force, and wakes who waits for an agent.

    It wakes its waiters when an agent may have been resumed: after a change of a pause, a budget
    or the configuration. ``clock`` returns milliseconds since the epoch.
    """

    store: Store
    agents: Callable[[], AgentsFile]
    environ: Mapping[str, str]
    clock: Callable[[], int]

    def __post_init__(self) -> None:
        self._configured_at = self._began = self.clock()
        self._unnamed: list[UnnamedCall] = []

    def rules(self) -> SpendingRules:
        """Return what a transaction needs to decide; it may not touch this object."""
        return SpendingRules(self.agents(), self.environ, self.clock, self._configured_at)

    def configured(self) -> None:
        """Let agents whose key was refused try again: the configuration may have another key."""
        self._configured_at = self.clock()
        self.wake()

    async def order(self, agent_id: str, by: str, *, paused: bool) -> str | None:
        """Pause or resume an agent on request; return why it cannot be resumed, or None."""
        rules = self.rules()
        work = rules.pause if paused else rules.resume
        refused = await self.store.transact(work, agent_id, by)
        self.wake()
        return refused

    async def resumed(self, agent_id: str) -> None:
        """Wait until an agent is resumed or removed, or the daemon stops."""

        async def over() -> bool:
            removed = self.agents().agent(agent_id) is None
            return removed or await self.store.transact(pauses.find, agent_id) is None

        await self.until(over)

    def book(self, agent_id: str, work: str, call: CallEnded, *, died: bool) -> None:
        """Count a call that is in no step and no answer; ``died``: with its worker."""
        self._unnamed.append(UnnamedCall(agent_id, work, call, self._began if died else None))
        self.wake()

    async def run(self) -> None:
        """Book calls, and resume agents that have room in their budget or may have a key."""
        while True:
            changed = self.changed
            await self.book_unnamed()
            with anyio.move_on_after(await self.lift()):
                await changed.wait()

    async def book_unnamed(self) -> None:
        calls, self._unnamed = self._unnamed, []
        try:
            if calls:
                await self.store.transact(self.rules().book, calls)
        except JournalError as error:  # with the next look
            report_failure(error)
            self._unnamed = calls + self._unnamed

    async def lift(self) -> float:
        """Resume the agents that may go on now; return the seconds until the next look."""
        try:
            lifted, delay = await self.store.transact(self.rules().lift)
        except JournalError as error:
            report_failure(error)
            return RECHECK
        if lifted:
            self.wake()
        return delay
