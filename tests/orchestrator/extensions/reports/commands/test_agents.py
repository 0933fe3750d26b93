"""Agents are listed, paused and resumed by a running daemon."""

import json
from pathlib import Path

from fakes.control_server import ask, command, serving

from orchestrator.config_problem import Problem
from orchestrator.control import protocol
from orchestrator.control.agent_report import AgentReport
from orchestrator.control.protocol import (
    Ack,
    AgentName,
    ChannelReport,
    ProcessReport,
    RecentTurn,
    StatusReport,
)
from orchestrator.errors import ExitCode
from thinker.protocol.peer import FAILED, RpcError

PROBLEM = Problem("error", "agents.json", 12, "work", "has no model")


REPORT = StatusReport(
    ready=True,
    version="1.2.3",
    home="/h",
    config_file="/h/agents.json",
    agents=(
        AgentReport(
            agent_id="work",
            state="running",
            pid=41,
            restarts=2,
            provider="demo",
            model="demo",
            memory="person",
        ),
    ),
    channels=(ChannelReport(name="telegram", state="ok", detail="@bot"),),
    config_errors=(PROBLEM,),
    processes=(
        ProcessReport(name="agent work", pid=41, sandbox="no-landlock", reason="an old kernel"),
    ),
    open_turns=1,
    inbox={"new": 3},
    recent_turns=(
        RecentTurn(
            turn_id="01234567-89abcdef",
            agent_id="work",
            chat="console:x",
            state="closed",
            stop_reason="done",
            tools=("get_time", "read_skill"),
            ms=20,
        ),
    ),
    hints=("set a key",),
)


def test_agents_without_a_daemon_end_with_3(tmp_path: Path) -> None:
    """And the message says how to start one."""
    refused = command(tmp_path, "agents", "list")
    assert (refused.exit_code, refused.stdout) == (ExitCode.NOT_RUNNING, "")
    assert "orchestrator run" in refused.stderr


async def test_agents_are_listed_and_resumed(tmp_path: Path) -> None:
    """The daemon is asked to resume the one that was named."""
    answers = {protocol.STATUS: REPORT, protocol.AGENT_RESUME: Ack()}
    async with serving(tmp_path, answers) as server:
        listed = await ask(tmp_path, "agents", "list")
        as_json = await ask(tmp_path, "agents", "list", "--json")
        resumed = await ask(tmp_path, "agents", "resume", "work")
    assert "work   running   41" in listed.stdout
    assert json.loads(as_json.stdout)["agents"][0]["pid"] == 41
    assert resumed.exit_code == 0
    (params,) = server.params(protocol.AGENT_RESUME)
    assert AgentName.model_validate(params) == AgentName(agent_id="work")


async def test_refusal_of_the_daemon_is_the_message(tmp_path: Path) -> None:
    """Its own words, on stderr; exit 64 for an unknown name, otherwise 1."""
    for code, status in ((protocol.UNKNOWN_NAME, ExitCode.USAGE), (FAILED, ExitCode.FAILED)):
        refusal = RpcError(code, "there is no agent 'nobody'")
        async with serving(tmp_path, {protocol.AGENT_RESUME: refusal}):
            refused = await ask(tmp_path, "agents", "resume", "nobody")
        assert (refused.exit_code, refused.stderr) == (status, "there is no agent 'nobody'\n")
