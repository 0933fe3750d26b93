"""Start the tool host, tell it of servers, and read its answers."""

import sys
from collections.abc import Mapping

from orchestrator.agentsfile import McpServer
from orchestrator.agentsfile.agents_file import SandboxMode
from orchestrator.journal.turns.steps import Call
from orchestrator.processes.child_process import Program
from orchestrator.settings import Settings
from orchestrator.toolhost import wire
from orchestrator.tools.mcp.mcp_tools import McpTool
from thinker.protocol.env import inherited
from thinker.protocol.messages import ToolResult

ARGV = (sys.executable, "-P", "-m", "orchestrator.toolhost")


def host_program(settings: Settings, environ: Mapping[str, str], sandbox: SandboxMode) -> Program:
    """Return the tool host's program; ``sandbox`` is how its jail and those of servers are made."""
    env = {
        **inherited(environ),
        wire.LOG_VARIABLE: settings.log_level,
        wire.HOME_VARIABLE: str(settings.home),
        wire.SANDBOX_VARIABLE: sandbox,
    }
    if settings.config is not None:
        env[wire.CONFIG_VARIABLE] = str(settings.config)
    return Program("the tool host", ARGV, env, settings.home, wire.FD_VARIABLE)


def server_spec(name: str, server: McpServer, *, bundled: bool = False) -> wire.ServerSpec:
    """Return what the tool host is told about a server."""
    fields = server.model_dump(include=set(wire.ServerSpec.model_fields), exclude_none=True)
    return wire.ServerSpec.model_validate({**fields, "name": name, "bundled": bundled})


def tool_result(call: Call, tool: McpTool, answer: wire.ToolAnswer) -> ToolResult:
    return ToolResult(
        call_id=call.call_id,
        name=call.name,
        origin=tool.origin,
        private=tool.reads,
        **dict(answer),
    )


def tool_failure(call: Call, tool: McpTool, problem: str) -> ToolResult:
    answer = wire.ToolAnswer(content=f"the tool failed: {problem}", is_error=True)
    return tool_result(call, tool, answer)


def away(state: wire.ServerState, seconds: float) -> str:
    """Say that a server cannot be called after a wait, and why."""
    problem = state.error or f"it has not answered in {seconds:.0f} seconds"
    return f"the tool server {state.name!r} is away: {problem}"
