"""The changes that the report commands request from a running daemon."""

from collections.abc import Mapping
from functools import partial

from pydantic import Field, JsonValue

from orchestrator.control import protocol
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import OrchestratorError
from orchestrator.extension import Part
from orchestrator.extensions.reports import conversations
from orchestrator.journal.access import pairing
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError

SESSION_END = "sessions/end"  # RowId → Ack
PAIR_REFUSE = "pair/refuse"  # PairCode → Ack
BUDGET_EXTEND = "budget/extend"  # MoreMoney → ExtendedBudget


class MoreMoney(CamelModel):
    """What an agent may spend more today, in US dollars."""

    agent_id: str
    usd: float = Field(gt=0, le=1000, allow_inf_nan=False)


class ExtendedBudget(CamelModel):
    """A raised limit, in a sentence; ``paused`` is why the agent does not work yet, if so."""

    text: str
    paused: str = ""


class ReportsPart(Part):
    """Ends conversations, refuses chats, and extends budgets."""

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        change = self.daemon.control.change_row
        return {SESSION_END: partial(change, conversations.end_conversation)}

    def list_authored_methods(self, by: str) -> Mapping[str, RequestHandler]:
        return {
            PAIR_REFUSE: partial(self._refuse_pairing, by),
            BUDGET_EXTEND: partial(self._extend_budget, by),
        }

    async def _refuse_pairing(self, by: str, params: JsonValue) -> protocol.Ack:
        code, daemon = protocol.PairCode.model_validate(params).code, self.daemon
        if not await daemon.store.transact(pairing.refuse, code, by, daemon.machine.clock()):
            problem = f"no chat has the code {code!r}; see: orchestrator pair list"
            raise RpcError(protocol.UNKNOWN_NAME, problem)
        return protocol.Ack()

    async def _extend_budget(self, by: str, params: JsonValue) -> ExtendedBudget:
        asked, daemon = MoreMoney.model_validate(params), self.daemon
        guard = daemon.operations.guard
        work = guard.build_rules().extend_budget
        try:
            paused = await daemon.store.transact(work, asked.agent_id, asked.usd, by)
        except OrchestratorError as error:
            raise RpcError(FAILED, str(error)) from error
        guard.wake()
        text = f"{asked.agent_id} may spend ${asked.usd:g} more until midnight"
        return ExtendedBudget(text=text, paused=paused or "")
