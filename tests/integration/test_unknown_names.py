"""A running daemon tells an unknown name from every other failure."""

from pathlib import Path

import pytest
from fakes.held_model import held_daemon

from orchestrator.control import protocol
from orchestrator.control.protocol import (
    Ack,
    AgentName,
    ApprovalDecision,
    ChatSend,
    PairedChat,
    RowId,
    ToolName,
)
from orchestrator.extensions.memory.memory_part import FACT_FORGET
from orchestrator.extensions.reports.reports_part import SESSION_END
from thinker.protocol.peer import Params, RpcError

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]

NUMBER = RowId(id=99)
REQUESTS: dict[str, Params] = {
    protocol.CHAT_SEND: ChatSend(chat="x", message="m", text="hello", agent="nope"),
    protocol.AGENT_PAUSE: AgentName(agent_id="nope"),
    protocol.AGENT_RESUME: AgentName(agent_id="nope"),
    protocol.APPROVAL_DECIDE: ApprovalDecision(code="NOPE", granted=True),
    protocol.PAIR_REVOKE: PairedChat(channel="telegram", chat_id="5"),
    protocol.TOOL_APPROVE: ToolName(name="nope/nope"),
    protocol.DLQ_RETRY: NUMBER,
    protocol.DLQ_DROP: NUMBER,
    protocol.TASK_RUN: NUMBER,
    protocol.TASK_ENABLE: NUMBER,
    protocol.TASK_DISABLE: NUMBER,
    SESSION_END: NUMBER,
    FACT_FORGET: NUMBER,
}


async def test_every_unknown_name_has_the_error_code_of_its_own(tmp_path: Path) -> None:
    """So that the command line can end with 64; nothing is stored of a message to nobody."""
    async with held_daemon(tmp_path) as (_, _, daemon):
        before = (await daemon.status()).inbox
        for method, params in REQUESTS.items():
            with pytest.raises(RpcError) as refused:
                await daemon.ask(method, params, Ack)
            assert refused.value.code == protocol.UNKNOWN_NAME, (method, refused.value)
        with pytest.raises(RpcError, match='did you mean "home"'):
            await daemon.ask(protocol.AGENT_PAUSE, AgentName(agent_id="hoem"), Ack)
        assert (await daemon.status()).inbox == before
