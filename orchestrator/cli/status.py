"""``orchestrator status``."""

import typer

from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import format_count, format_moment, print_text
from orchestrator.cli.tables import Columns, print_json, print_records
from orchestrator.config_problem import Problem
from orchestrator.control.protocol import STATUS, StatusReport
from thinker.protocol.names import format_turn_name

AGENTS: Columns = {
    "agent": "agent_id",
    "state": "state",
    "pid": "pid",
    "restarts": "restarts",
    "provider": "provider",
    "model": "model",
    "reads": "window",
    "memory": "memory",
    "paused": "paused",
    "reason": "reason",
}
PROCESSES: Columns = {"process": "name", "pid": "pid", "sandbox": "sandbox", "reason": "reason"}
NODES: Columns = {
    "node": "name",
    "address": "address",
    "state": lambda node: "works" if node.works else "stands by",
    "connected": lambda node: format_moment(node.since),
}
BROKER: Columns = {"state": "state", "pid": "pid", "restarts": "restarts", "reason": "reason"}
CHANNELS: Columns = {"channel": "name", "state": "state", "detail": "detail"}
TOOL_SERVERS: Columns = {
    "server": "name",
    "state": "state",
    "tools": "tools",
    "sandbox": "sandbox",
    "problem": "error",
}
RECENT_TURNS: Columns = {
    "turn": lambda turn: format_turn_name(turn.turn_id),
    "agent": "agent_id",
    "chat": "chat",
    "state": "state",
    "stop reason": "stop_reason",
    "tools": lambda turn: ", ".join(turn.tools),
    "ms": "ms",
}
app = make_command_group()


@app.command()
def status(*, as_json: AsJson = False, home: Home = None) -> None:
    """Show the state of the running daemon.

    Shows agents, processes and how well each is jailed, channels, MCP servers, problems of the
    configuration, and the last turns with their tools.
    """
    report = ask_daemon(load_settings(home), STATUS, None, StatusReport)
    if as_json:
        print_json(report)
    else:
        _show_status(report)


def show_problems(problems: tuple[Problem, ...]) -> None:
    """Print each problem on a line of its own: a table would cut the sentences."""
    if problems:
        typer.echo("Problems of the configuration")
    for problem in problems:
        print_text(str(problem))
    if problems:
        typer.echo()


def _show_status(report: StatusReport) -> None:
    state = "ready" if report.ready else "not ready"
    inbox = ", ".join(f"{number} {name}" for name, number in report.inbox.items()) or "empty"
    typer.echo(f"orchestrator {report.version}, {state}")
    typer.echo(f"home    {report.home}\nconfig  {report.config_file}")
    started = format_count(report.starts, "start")
    typer.echo(f"journal {report.journal}, {report.journal_bytes / 1e6:.1f} MB, {started}")
    typer.echo(f"turns   {format_count(report.open_turns, 'open turn')}\ninbox   {inbox}\n")
    print_records("Nodes", report.nodes, NODES)
    print_records("Agents", report.agents, AGENTS)
    print_records("Broker", filter(None, [report.broker]), BROKER)
    print_records("Processes", report.processes, PROCESSES)
    print_records("Channels", report.channels, CHANNELS)
    print_records("MCP servers", report.tool_servers, TOOL_SERVERS)
    show_problems(report.config_errors)
    print_records("Recent turns", report.recent_turns, RECENT_TURNS)
    for hint in report.hints:
        print_text(hint)
