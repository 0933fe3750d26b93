"""The changes that the report commands request from a running daemon."""

from collections.abc import Mapping
from functools import partial

from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.extension import Part
from orchestrator.extensions.reports import conversations
from orchestrator.extensions.reports.operator_decisions import readmit_chat, refuse_chat
from thinker.protocol.names import ChatName
from thinker.protocol.peer import Peer, RequestHandler, RpcError

SESSION_END = "sessions/end"  # RowId → Ack
PAIR_REFUSE = "pair/refuse"  # PairCode → Ack
PAIR_RESTORE = "pair/restore"  # PairedChat → Ack


class ReportsPart(Part):
    """Ends conversations, refuses chats and lets them in again."""

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        change = self.daemon.control.change_row
        return {SESSION_END: partial(change, conversations.end_conversation)}

    def list_authored_methods(self, by: str) -> Mapping[str, RequestHandler]:
        return {
            PAIR_REFUSE: partial(self._refuse_pairing, by),
            PAIR_RESTORE: partial(self._restore_pairing, by),
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
