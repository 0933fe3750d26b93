"""Pause and resume agents, and make turns wait for pauses and limits.

Messages of a paused agent stay new; its open turns wait between two steps. `SpendingRules` decides.

Where: are agents paused and resumed?
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio

from orchestrator.agentsfile import AgentsFile
from orchestrator.broker.broker_wire import CallEnded
from orchestrator.errors import JournalError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store, report_failure
from orchestrator.journal.turns import owners, pauses
from orchestrator.placement import Placement, Share, SingleNode
from orchestrator.spending.spending_rules import RECHECK, SpendingRules, UnnamedCall
from orchestrator.wakeup import Wakeup


@dataclass(eq=False)
class SpendingGuard(Wakeup):
    """Gives transactions the current rules, and wakes those who wait for an agent.

    It wakes its waiters when an agent may have been resumed: after a change of a pause, a budget
    or the configuration. ``clock`` returns milliseconds since the epoch.
    """

    store: Store
    agents: Callable[[], AgentsFile]
    environ: Mapping[str, str]
    clock: Callable[[], int]
    placement: Placement = field(default_factory=SingleNode)

    def __post_init__(self) -> None:
        self._configured_at = self._began = self.clock()
        self._rules: SpendingRules | None = None  # until the configuration is another one
        self._unnamed: list[UnnamedCall] = []

    def build_rules(self) -> SpendingRules:
        """Build the rules for a transaction, which must not touch this object."""
        agents, rules = self.agents(), self._rules
        if rules is None or rules.agents is not agents:
            rules = SpendingRules(agents, self.environ, self.clock, self._configured_at)
            self._rules = rules
        return rules

    def retry_refused_keys(self) -> None:
        """Let agents whose key was refused try again: the keys may have changed."""
        self._configured_at = self.clock()
        self._rules = None
        self.wake()

    async def change_pause(self, agent_id: str, by: str, *, paused: bool) -> str | None:
        """Pause or resume an agent on request; return the reason why it stays paused, or None."""
        rules = self.build_rules()
        work = rules.pause_agent if paused else rules.resume_agent
        refused = await self.store.transact(work, agent_id, by)
        self.wake()
        return refused

    async def wait_until_resumed(self, agent_id: str) -> None:
        """Wait until an agent is resumed or removed, or the daemon stops."""

        async def is_over() -> bool:
            removed = self.agents().find_agent(agent_id) is None
            return removed or await self.store.transact(pauses.find_pause, agent_id) is None

        await self.wait_until(is_over)

    def queue_unnamed_call(self, agent_id: str, work: str, call: CallEnded, *, died: bool) -> None:
        """Count a call that no step or answer names; ``died`` says that its worker did."""
        self._unnamed.append(UnnamedCall(agent_id, work, call, self._began if died else None))
        self.wake()

    async def run(self) -> None:
        """Book calls, and resume agents whose budget has room or whose key may be valid."""
        while True:
            changed = self.changed
            await self.book_unnamed()
            with anyio.move_on_after(await self.lift_pauses()):
                await changed.wait()

    async def book_unnamed(self) -> None:
        calls, self._unnamed = self._unnamed, []
        try:
            if calls:
                await self.store.transact(
                    _book_own_calls, self.build_rules(), calls, self.placement.share
                )
        except JournalError as error:  # with the next look
            report_failure(error)
            self._unnamed = calls + self._unnamed

    async def lift_pauses(self) -> float:
        """Resume the agents whose pause may end; return the seconds until the next check."""
        try:
            lifted, delay = await self.store.transact(
                self.build_rules().lift_pauses, self.placement.share
            )
        except JournalError as error:
            report_failure(error)
            return RECHECK
        if lifted:
            self.wake()
        return delay


def _book_own_calls(
    db: Database, rules: SpendingRules, calls: list[UnnamedCall], share: Share | None
) -> None:
    """Count calls; those of a turn that another node has since count as they were reserved."""
    if share is not None:
        calls = [one for one in calls if (owners.find_owner(db, one.work) or one.agent_id) in share]
    rules.book_calls(db, calls)
