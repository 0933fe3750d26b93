"""``orchestrator status``."""

import typer

from orchestrator.cli._client import ask
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import count, moment
from orchestrator.cli._prose import say
from orchestrator.cli._tables import print_json, table
from orchestrator.control.protocol import (
    STATUS,
    AgentReport,
    ConfigProblem,
    NodeReport,
    ProcessReport,
    StatusReport,
)
from thinker.protocol.names import turn_name

app = command_group()


@app.command()
def status(*, as_json: AsJson = False, home: Home = None) -> None:
    """Show the state of the running daemon.

    Agents, processes and how well each is walled off, channels, MCP servers, problems of the
    configuration, and the last turns with their tools.
    """
    report = ask(load_settings(home), STATUS, None, StatusReport)
    if as_json:
        print_json(report)
    else:
        _show(report)


def show_agents(agents: tuple[AgentReport, ...]) -> None:
    table(
        "Agents",
        ("agent", "state", "pid", "restarts", "provider", "model", "memory", "paused", "reason"),
        (
            (
                a.agent_id,
                a.state,
                a.pid,
                a.restarts,
                a.provider,
                a.model,
                a.memory,
                a.paused,
                a.reason,
            )
            for a in agents
        ),
    )


def show_processes(title: str, processes: tuple[ProcessReport, ...]) -> None:
    header = ("process", "pid", "sandbox", "reason")
    table(title, header, ((p.name, p.pid, p.sandbox, p.reason) for p in processes))


def show_problems(problems: tuple[ConfigProblem, ...]) -> None:
    """Print one line for each: in a table these sentences would be cut into narrow columns."""
    if problems:
        typer.echo("Problems of the configuration")
    for problem in problems:
        say(str(problem))
    if problems:
        typer.echo()


def show_nodes(nodes: tuple[NodeReport, ...]) -> None:
    """Show who shares the journal; nothing for one in a file."""
    table(
        "Nodes",
        ("node", "address", "state", "connected"),
        ((n.name, n.address, "works" if n.works else "stands by", moment(n.since)) for n in nodes),
    )


def _show(report: StatusReport) -> None:
    state = "ready" if report.ready else "not ready"
    inbox = ", ".join(f"{number} {name}" for name, number in report.inbox.items()) or "empty"
    typer.echo(f"orchestrator {report.version}, {state}")
    typer.echo(f"home    {report.home}\nconfig  {report.config_file}")
    started = count(report.starts, "start")
    typer.echo(f"journal {report.journal}, {report.journal_bytes / 1e6:.1f} MB, {started}")
    typer.echo(f"turns   {count(report.open_turns, 'open turn')}\ninbox   {inbox}\n")
    show_nodes(report.nodes)
    show_agents(report.agents)
    if report.broker is not None:
        told = report.broker
        row = (told.state, told.pid, told.restarts, told.reason)
        table("Broker", ("state", "pid", "restarts", "reason"), (row,))
    show_processes("Processes", report.processes)
    table(
        "Channels",
        ("channel", "state", "detail"),
        ((channel.name, channel.state, channel.detail) for channel in report.channels),
    )
    table(
        "MCP servers",
        ("server", "state", "tools", "sandbox", "problem"),
        ((s.name, s.state, s.tools, s.sandbox, s.error) for s in report.tool_servers),
    )
    show_problems(report.config_errors)
    table(
        "Recent turns",
        ("turn", "agent", "chat", "state", "stop reason", "tools", "ms"),
        (
            (
                turn_name(t.turn_id),
                t.agent_id,
                t.chat,
                t.state,
                t.stop_reason,
                ", ".join(t.tools),
                t.ms,
            )
            for t in report.recent_turns
        ),
    )
    for hint in report.hints:
        say(hint)
