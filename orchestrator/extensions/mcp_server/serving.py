"""Build the MCP server of a daemon; imported when a client first needs it."""

from pydantic import JsonValue

from orchestrator.errors import OrchestratorError
from orchestrator.extension import DaemonView
from orchestrator.extensions.mcp_server.agent_talk import AgentTalk
from orchestrator.extensions.mcp_server.mcp_channel import McpChannel
from orchestrator.extensions.mcp_server.mcp_service import McpService
from orchestrator.extensions.mcp_server.offered_tools import OfferedTools
from orchestrator.extensions.mcp_server.operator_tools import OperatorTools
from orchestrator.extensions.mcp_server.stdio_sessions import StdioSession
from orchestrator.extensions.mcp_server.trace_resources import TraceResources
from thinker.protocol.peer import Params, Peer, RequestHandler, RpcError


def build_mcp_service(daemon: DaemonView, channel: McpChannel) -> McpService:
    """Return the service of both transports."""

    async def act(by: str, method: str, params: JsonValue) -> Params:
        try:
            return await daemon.control.build_methods_for(f"mcp:{by}")[method](params)
        except RpcError as error:
            raise OrchestratorError(str(error)) from error

    operations = daemon.operations
    talk = AgentTalk(operations, channel, daemon.intake, daemon.delivery, act)
    tools = OfferedTools(talk, OperatorTools(operations, channel, act, daemon.control.wake))
    random_bytes = daemon.machine.random_bytes
    return McpService(tools, TraceResources(daemon.store), fresh=lambda: random_bytes(16).hex())


def make_line_handler(service: McpService, peer: Peer) -> RequestHandler:
    """Make the handler of a client's lines on a connection."""
    return StdioSession(service, peer).answer_line
