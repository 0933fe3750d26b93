"""Make the MCP server of a daemon; imported when a client first asks for it."""

from collections.abc import Callable

from orchestrator.channel_api import Intake
from orchestrator.control.operations import DaemonOperations
from orchestrator.journal.db.store import Store
from orchestrator.mcp_server.agent_talk import AgentTalk
from orchestrator.mcp_server.mcp_channel import McpChannel
from orchestrator.mcp_server.mcp_service import McpService
from orchestrator.mcp_server.offered_tools import OfferedTools
from orchestrator.mcp_server.operator_tools import OperatorTools
from orchestrator.mcp_server.stdio_sessions import StdioSession
from orchestrator.mcp_server.trace_resources import TraceResources
from orchestrator.outbound.delivery import Delivery
from orchestrator.toolcalls.approvals import ApprovalQueue
from thinker.protocol.peer import Peer, RequestHandler


def mcp_service(
    operations: DaemonOperations,
    channel: McpChannel,
    intake: Intake,
    delivery: Delivery,
    approvals: ApprovalQueue,
    wake: Callable[[], None],
    fresh: Callable[[], str],
) -> McpService:
    """Return the service of both transports.

    ``wake`` is called when inbox or outbox have changed; ``fresh`` returns a new id.
    """
    talk = AgentTalk(operations, channel, intake, delivery, approvals)
    tools = OfferedTools(talk, OperatorTools(operations, channel, approvals, wake))
    store: Store = operations.store
    return McpService(tools, TraceResources(store), fresh=fresh)


def lines_of(service: McpService, peer: Peer) -> RequestHandler:
    """Return what takes the lines of a client on a connection."""
    return StdioSession(service, peer).take
