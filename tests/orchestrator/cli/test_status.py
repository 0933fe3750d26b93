"""Commands that look at, or steer, a running daemon."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
from fakes.control_server import ask, command, serving
from pydantic import JsonValue

from orchestrator.cli.output import format_moment
from orchestrator.config_problem import Problem
from orchestrator.control import protocol
from orchestrator.control.agent_report import AgentReport, BudgetUse, StatusRequest, WorkerCounts
from orchestrator.control.protocol import (
    ChannelReport,
    ProcessReport,
    RecentTurn,
    ReloadReport,
    StatusReport,
)
from orchestrator.errors import ExitCode
from orchestrator.journal_address import SharingDaemon

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
    budgets=(BudgetUse(window="Month", tokens=10, usd=1.5, token_limit=None, usd_limit=5),),
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


async def test_status_shows_agents_channels_problems_and_turns_with_their_tools(
    tmp_path: Path,
) -> None:
    """A program that reads it gets each row on one line."""
    async with serving(tmp_path, {protocol.STATUS: REPORT}):
        shown = await ask(tmp_path, "status")
    rows = [line.split() for line in shown.stdout.splitlines()]
    assert ["work", "running", "41", "2", "demo", "demo", "person"] in rows
    assert ["telegram", "ok", "@bot"] in rows
    assert ["this", "month", "1.50", "of", "5.00"] in rows
    assert ["agent", "work", "41", "no-landlock", "an", "old", "kernel"] in rows
    assert ["agents.json:12:", "has", "no", "model"] in rows
    turn = "89abcdef work console:x closed done get_time, read_skill 20"
    assert turn.split() in rows
    assert ["inbox", "3", "new"] in rows
    assert ["set", "a", "key"] in rows
    assert "Nodes" not in shown.stdout


async def test_status_shows_who_shares_the_journal(tmp_path: Path) -> None:
    """The daemon that works, and those that stand by."""
    nodes = (
        SharingDaemon(
            name="one", address="10.0.0.1", works=True, since=1_800_000_000_000, groups=128
        ),
        SharingDaemon(name="two", address="10.0.0.2", works=False, since=1_800_000_000_000),
    )
    shared = REPORT.model_copy(update={"nodes": nodes, "starts": 7})
    async with serving(tmp_path, {protocol.STATUS: shared}):
        shown = await ask(tmp_path, "status")
    rows = [line.split()[:5] for line in shown.stdout.splitlines()]
    assert ["one", "10.0.0.1", "works", "128", format_moment(1_800_000_000_000).split()[0]] in rows
    assert ["two", "10.0.0.2", "stands", "by"] in [row[:4] for row in rows]
    assert "7 starts" in shown.stdout


async def test_status_of_many_agents_lists_a_few_and_counts_them_all(tmp_path: Path) -> None:
    """With the limit of live workers; what is listed can be chosen."""
    many = REPORT.model_copy(
        update={
            "agent_states": {"running": 1, "stopped": 9_999},
            "agents_left_out": 9_999,
            "workers": WorkerCounts(live=200, limit=200, waiting=7),
        }
    )
    async with serving(tmp_path, {protocol.STATUS: many}) as server:
        shown = await ask(tmp_path, "status", "--agents", "w*", "--all")
    assert "10,000 agents: 1 running, 9,999 stopped\n" in shown.stdout
    assert "and 9,999 more; list some with --agents GLOB, or --all" in shown.stdout
    assert "workers 200 of at most 200, 7 waiting" in shown.stdout
    (params,) = server.params(protocol.STATUS)
    asked = StatusRequest.model_validate(params)
    assert asked.agents == "w*"
    assert asked.most >= 10_000


async def test_status_json_is_the_report_under_the_documented_names(tmp_path: Path) -> None:
    """Others build on these keys."""
    async with serving(tmp_path, {protocol.STATUS: REPORT}):
        shown = json.loads((await ask(tmp_path, "status", "--json")).stdout)
    keys = {"ready", "agents", "channels", "configErrors", "openTurns", "inbox"}
    assert keys <= set(shown)
    assert {"agentId", "state", "pid", "restarts", "model", "provider"} <= set(shown["agents"][0])
    assert {"file", "line", "agentId", "message"} <= set(shown["configErrors"][0])
    assert StatusReport.model_validate(shown) == REPORT


def test_without_a_daemon_the_exit_code_is_3(tmp_path: Path) -> None:
    """And the message says how to start one."""
    for arguments in (["status"], ["status", "--json"], ["reload"]):
        refused = command(tmp_path, *arguments)
        assert refused.exit_code == ExitCode.NOT_RUNNING
        assert "orchestrator run" in refused.stderr
        assert refused.stdout == ""


async def test_daemon_that_stops_during_a_request_is_not_running(tmp_path: Path) -> None:
    """End-of-file instead of an answer."""

    async def hang_up(params: JsonValue) -> None:
        del params
        server.peers[0].close()
        await anyio.sleep_forever()

    async with serving(tmp_path, {protocol.STATUS: hang_up}) as server:
        refused = await ask(tmp_path, "status")
    assert refused.exit_code == ExitCode.NOT_RUNNING
    assert "stopped" in refused.stderr


async def test_daemon_that_answers_something_else_is_of_another_version(tmp_path: Path) -> None:
    """No traceback of a validator."""
    async with serving(tmp_path, {protocol.STATUS: {"ready": "perhaps"}}):
        refused = await ask(tmp_path, "status")
    assert refused.exit_code == ExitCode.FAILED
    assert refused.stderr == "the daemon runs another version; restart it\n"


async def test_applied_reload_shows_its_warnings(tmp_path: Path) -> None:
    """Exit 0."""
    warning = replace(PROBLEM, severity="warning")
    async with serving(
        tmp_path, {protocol.RELOAD: ReloadReport(applied=True, problems=(warning,))}
    ):
        done = await ask(tmp_path, "reload")
    assert (done.exit_code, done.stdout) == (0, "agents.json:12: warning: has no model\napplied\n")


async def test_refused_reload_is_78(tmp_path: Path) -> None:
    """The old configuration goes on, and the reason is shown."""
    async with serving(
        tmp_path, {protocol.RELOAD: ReloadReport(applied=False, problems=(PROBLEM,))}
    ):
        done = await ask(tmp_path, "reload")
    assert done.exit_code == ExitCode.CONFIG
    assert done.stdout.startswith("agents.json:12: has no model\nrefused")
