"""The method with which people say that a claim of an answer is true."""

from collections.abc import Mapping
from functools import partial

import anyio
from pydantic import JsonValue

from orchestrator.control.protocol import CLAIM_CONFIRM, Ack, TurnClaim
from orchestrator.extension import Part
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect.trace import list_turns_named
from orchestrator.journal.turns.receipts import confirm_claim
from thinker.protocol.peer import RequestHandler

LATER = 0.2  # seconds, so that the model is asked before


class ReceiptsPart(Part):
    """Stores what people say of claims, for operators and decision makers."""

    async def run(self) -> None:
        """Load the words of all languages before an answer needs them in its transaction.

        They take 4 MB, so a daemon without a turn has none.
        """
        await self.daemon.turns.supervisor.used.wait()
        await anyio.sleep(LATER)
        await self.daemon.machine.in_thread(_load_tables)

    def list_authored_methods(self, by: str) -> Mapping[str, RequestHandler]:
        return {CLAIM_CONFIRM: partial(self._confirm, by)}

    async def _confirm(self, by: str, params: JsonValue) -> Ack:
        asked = TurnClaim.model_validate(params)
        return await self.daemon.control.change_journal(_confirm_claim, asked, by)


def _load_tables() -> None:
    from orchestrator.extensions.receipts.judge import load_tables

    load_tables()


def _confirm_claim(db: Database, asked: TurnClaim, by: str, now: int) -> None:
    named = list_turns_named(db, asked.turn_id)
    turn_id = named[0] if len(named) == 1 else asked.turn_id
    confirm_claim(db, turn_id, asked.claim, by, now)
