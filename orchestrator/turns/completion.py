"""The end of a turn: T6, or giving its message up."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import structlog

from orchestrator.journal.db.crash_record import MAX_DEATHS
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import turns, usage
from orchestrator.journal.turns.turns import Turn
from orchestrator.outbound.delivery import Delivery, Reply
from thinker.protocol.methods import StopReason, TurnResult

log = structlog.get_logger()


class Ending(Protocol):
    """How the turn of one recipe ends, inside a transaction."""

    turn: Turn

    def reply(self, db: Database, result: TurnResult) -> Reply | None:
        """Commit T6; return which chat has its reply, None if that can be any."""

    def dead_letter(self, db: Database, deaths: int, reason: str) -> None:
        """Give the turn's message up and say so where it came from."""


class EndedTurn(NamedTuple):
    """What T6 came to: the reply, as `Ending.reply` has it, and the cost of the turn's calls.

    ``usd`` is None if a model of theirs has no price.
    """

    reply: Reply | None
    usd: float | None


def end_turn(db: Database, ending: Ending, result: TurnResult) -> EndedTurn:
    """Release what was reserved and commit T6."""
    if result.stop_reason is not StopReason.DEADLINE:  # which ends a call that may be billed
        usage.release(db, ending.turn.id)
    return EndedTurn(ending.reply(db, result), usage.cost(db, ending.turn.id))


@dataclass(frozen=True)
class TurnCompletion:
    """Ends turns and announces it. ``session_grew`` is told whose, after each reply."""

    store: Store
    delivery: Delivery
    session_grew: Callable[[str], None]
    clock: Callable[[], int]

    async def complete(self, ending: Ending, result: TurnResult) -> None:
        """Commit T6 in a transaction of its own."""
        self.announce(ending.turn, result, await self.store.transact(end_turn, ending, result))

    def announce(self, turn: Turn, result: TurnResult, ended: EndedTurn | None) -> None:
        """Log a committed reply and wake those who wait for it."""
        log.info(
            "turn_replied",
            stop_reason=result.stop_reason,
            steps=result.steps,
            tools=list(result.tools_used),
            tokens=result.usage.total,
            usd=None if ended is None else ended.usd,
            ms=self.clock() - turn.started_at,
        )
        self.delivery.replied(None if ended is None else ended.reply)
        self.session_grew(turn.agent_id)

    async def count_death(self, ending: Ending, problem: str) -> bool:
        """Count a worker that died with the turn; return whether that ended the turn."""
        deaths = await self.store.transact(turns.process_died, ending.turn.id)
        log.warning("turn_lost_its_worker", deaths=deaths, problem=problem)
        if deaths < MAX_DEATHS:
            return False
        await self.give_up(ending, deaths, problem)
        return True

    async def give_up(self, ending: Ending, deaths: int, problem: str) -> None:
        """Make the turn's message a dead letter."""
        await self.store.transact(ending.dead_letter, deaths, problem)
        self.delivery.wake()
