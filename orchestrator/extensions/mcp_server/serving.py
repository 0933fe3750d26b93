"""Build the MCP server of a daemon; imported when a client first needs it."""

from orchestrator.extension import DaemonView
from orchestrator.extensions.mcp_server.agent_talk import AgentTalk
from orchestrator.extensions.mcp_server.mcp_channel import McpChannel
from orchestrator.extensions.mcp_server.mcp_service import McpService
from orchestrator.extensions.mcp_server.offered_tools import OfferedTools
from orchestrator.extensions.mcp_server.operator_tools import OperatorTools
from orchestrator.extensions.mcp_server.stdio_sessions import StdioSession
from orchestrator.extensions.mcp_server.trace_resources import TraceResources
from thinker.protocol.peer import Peer, RequestHandler


def build_mcp_service(daemon: DaemonView, channel: McpChannel) -> McpService:
    """Return the service of both transports."""
    operations, approvals = daemon.operations, daemon.approvals
    talk = AgentTalk(operations, channel, daemon.intake, daemon.delivery, approvals)
    tools = OfferedTools(talk, OperatorTools(operations, channel, approvals, daemon.control.wake))
    random_bytes = daemon.machine.random_bytes
    return McpService(tools, TraceResources(daemon.store), fresh=lambda: random_bytes(16).hex())


def make_line_handler(service: McpService, peer: Peer) -> RequestHandler:
    """Make the handler of a client's lines on a connection."""
    return StdioSession(service, peer).answer_line
