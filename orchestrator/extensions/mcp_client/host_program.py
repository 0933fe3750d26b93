"""Start the tool host, send it its servers, and read its answers."""

import sys
from collections.abc import Mapping

from orchestrator.agentsfile import McpServer
from orchestrator.agentsfile.agents_file import SandboxMode
from orchestrator.extensions.mcp_client.toolhost import wire
from orchestrator.journal.turns.steps import Call
from orchestrator.processes.child_process import Program
from orchestrator.settings import Settings
from orchestrator.tools.remote_tools import RemoteTool
from thinker.protocol.degradations import Degradation, cut_words
from thinker.protocol.env import select_inherited_variables
from thinker.protocol.messages import ToolResult

ARGV = (sys.executable, "-P", "-m", "orchestrator.extensions.mcp_client.toolhost")


def build_host_program(
    settings: Settings, environ: Mapping[str, str], sandbox: SandboxMode
) -> Program:
    """Build the tool host's program; ``sandbox`` says how it and its servers are jailed."""
    env = {
        **select_inherited_variables(environ),
        wire.LOG_VARIABLE: settings.log_level,
        wire.HOME_VARIABLE: str(settings.home),
        wire.SANDBOX_VARIABLE: sandbox,
    }
    if settings.config is not None:
        env[wire.CONFIG_VARIABLE] = str(settings.config)
    return Program("the tool host", ARGV, env, settings.home, wire.FD_VARIABLE)


def build_server_spec(name: str, server: McpServer, *, bundled: bool = False) -> wire.ServerSpec:
    """Build the tool host's specification of a server."""
    fields = server.model_dump(include=set(wire.ServerSpec.model_fields), exclude_none=True)
    return wire.ServerSpec.model_validate({**fields, "name": name, "bundled": bundled})


def build_server_result(call: Call, tool: RemoteTool, answer: wire.ToolAnswer) -> ToolResult:
    return ToolResult(
        call_id=call.call_id,
        name=call.name,
        origin=tool.origin,
        private=tool.reads,
        **dict(answer),
    )


def build_server_failure(call: Call, tool: RemoteTool, problem: str) -> ToolResult:
    answer = wire.ToolAnswer(content=f"the tool failed: {problem}", is_error=True)
    return build_server_result(call, tool, answer)


def is_listed(state: wire.ServerState) -> bool:
    """Return whether the tools of a server are known, if only from before a restart."""
    return state.state == "connected" or bool(state.tools)


def describe_missing_server(state: wire.ServerState) -> Degradation:
    """Describe a server whose tools were never listed, for a turn that goes on without them."""
    what, words = "has not listed its tools yet", cut_words(state.error)
    return Degradation(kind="server", subject=state.name, what=what, words=words)


def describe_absence(state: wire.ServerState, seconds: float) -> str:
    """Explain that a server could not be called, after a wait."""
    problem = state.error or f"it has not answered in {seconds:.0f} seconds"
    return f"the tool server {state.name!r} is away: {problem}"
