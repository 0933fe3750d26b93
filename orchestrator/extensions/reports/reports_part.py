"""The changes that the report commands request from a running daemon."""

from collections.abc import Mapping
from functools import partial

from pydantic import Field, JsonValue, ValidationError

from orchestrator.control import protocol
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import OrchestratorError
from orchestrator.extension import Part
from orchestrator.extensions.reports import conversations
from orchestrator.extensions.reports.operator_decisions import (
    MAX_EXTENSION,
    extend_budget,
    readmit_chat,
    refuse_chat,
)
from thinker.protocol.names import ChatName
from thinker.protocol.peer import FAILED, INVALID_PARAMS, Peer, RequestHandler, RpcError

SESSION_END = "sessions/end"  # RowId → Ack
PAIR_REFUSE = "pair/refuse"  # PairCode → Ack
PAIR_RESTORE = "pair/restore"  # PairedChat → Ack
BUDGET_EXTEND = "budget/extend"  # MoreMoney → ExtendedBudget
NO_AMOUNT = (
    f"name an agent, and an amount in US dollars between 0 and {MAX_EXTENSION:g}, such as 0.10"
)


class MoreMoney(CamelModel):
    """What an agent may spend more today, in US dollars."""

    agent_id: str
    usd: float = Field(gt=0, le=MAX_EXTENSION, allow_inf_nan=False)


class ExtendedBudget(CamelModel):
    """A raised limit, in a sentence; ``paused`` is why the agent does not work yet, if so."""

    text: str
    paused: str = ""


class ReportsPart(Part):
    """Ends conversations, refuses chats and lets them in again, and extends budgets."""

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        change = self.daemon.control.change_row
        return {SESSION_END: partial(change, conversations.end_conversation)}

    def list_authored_methods(self, by: str) -> Mapping[str, RequestHandler]:
        return {
            PAIR_REFUSE: partial(self._refuse_pairing, by),
            PAIR_RESTORE: partial(self._restore_pairing, by),
            BUDGET_EXTEND: partial(self._extend_budget, by),
        }

    async def _refuse_pairing(self, by: str, params: JsonValue) -> protocol.Ack:
        code, daemon = protocol.PairCode.model_validate(params).code, self.daemon
        if not await daemon.store.transact(refuse_chat, code, by, daemon.machine.clock()):
            problem = f"no chat has the code {code!r}; see: orchestrator pair list"
            raise RpcError(protocol.UNKNOWN_NAME, problem)
        return protocol.Ack()

    async def _restore_pairing(self, by: str, params: JsonValue) -> protocol.Ack:
        asked, daemon = protocol.PairedChat.model_validate(params), self.daemon
        chat = ChatName(asked.channel, asked.chat_id)
        if not await daemon.store.transact(readmit_chat, chat, by, daemon.machine.clock()):
            problem = f"{chat} was not refused or revoked; see: orchestrator pair list"
            raise RpcError(protocol.UNKNOWN_NAME, problem)
        return protocol.Ack()

    async def _extend_budget(self, by: str, params: JsonValue) -> ExtendedBudget:
        daemon, guard = self.daemon, self.daemon.operations.guard
        try:
            asked = MoreMoney.model_validate(params)
        except ValidationError:
            raise RpcError(INVALID_PARAMS, NO_AMOUNT) from None
        rules = guard.build_rules()
        try:
            paused = await daemon.store.transact(
                extend_budget, rules, asked.agent_id, asked.usd, by
            )
        except OrchestratorError as error:
            raise RpcError(FAILED, str(error)) from error
        guard.wake()
        text = f"{asked.agent_id} may spend ${asked.usd:g} more until midnight"
        return ExtendedBudget(text=text, paused=paused or "")
