"""A person's word before a call: asked once, waited for, used once.

A call needs it when the agent's ``approvals`` name its tool, or when the very same call was
dispatched in this chat within a day and nobody knows what it did (the model tends to ask again
with fresh eyes). No tool can grant one: answers come from the operator alone.
"""

import secrets
from collections.abc import Callable

import apsw

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import approvals, outbox
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.steps import Call
from orchestrator.tools import policy
from orchestrator.wakeup import Wakeup
from thinker.protocol.messages import SideEffect

SHOWN = 500  # characters of the arguments that the question shows
REPEATS = 3  # of a question of which nobody knows whether it arrived


class ApprovalQueue(Wakeup):
    """Where questions lie and answers are given; it is woken when some were, or have gone."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], int],
        new_code: Callable[[], str] = lambda: secrets.token_hex(4),
    ) -> None:
        super().__init__()
        self._store = store
        self._clock = clock
        self._new_code = new_code

    def check(
        self, db: apsw.Connection, call: Call, definition: AgentDefinition, address: Address
    ) -> str | Approval | None:
        """Inside T4: None when the call may run, its approval, if it needs one, being used up.

        Otherwise the question that waits (the chat has been told of it), or why it was refused.
        """
        now = self._clock()
        reason = self._reason(db, call, definition, now)
        if reason is None or approvals.use(db, call, now):
            return None
        if approvals.used(db, call):
            return None  # dispatched before a process died, and planned again as it may be repeated
        question, new = approvals.ask(db, call, reason, self._new_code(), now)
        if question.state != "pending" or question.expires <= now:
            return f"not approved: the operator said no, or nothing in time ({reason})"
        if new:
            text = chat_texts.APPROVAL.format(
                tool=question.tool,
                arguments=question.arguments[:SHOWN],
                reason=reason,
                code=question.code,
            )
            # Somebody must see it, and its code counts once however often it is shown.
            outbox.add_notice(db, address, text, now, again=REPEATS)
        return question

    async def answered(self, question: Approval) -> None:
        """Wait until the question is answered, has expired, or the daemon stops."""

        async def gone() -> bool:
            return question.id not in {item.id for item in await self.waiting()}

        await self.until(gone, (question.expires - self._clock()) / 1000)

    async def waiting(self) -> list[Approval]:
        """The questions that nobody has answered."""
        return await self._store.transact(approvals.waiting, self._clock())

    async def decide(self, code: str, by: str, *, granted: bool) -> Approval | None:
        """Answer a question; None when none with this code waits."""

        def decide(db: apsw.Connection) -> Approval | None:
            return approvals.decide(db, code, by, self._clock(), granted=granted)

        found = await self._store.transact(decide)
        self.wake()
        return found

    @staticmethod
    def _reason(
        db: apsw.Connection, call: Call, definition: AgentDefinition, now: int
    ) -> str | None:
        if policy.needs_approval(call.name, definition.approvals):
            return "the configuration wants a person's word for this tool"
        if call.side_effect is SideEffect.NON_IDEMPOTENT and approvals.repeats_unknown(
            db, call, now
        ):
            return "the same call was made lately and it is not known whether it happened"
        return None
