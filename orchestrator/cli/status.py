"""``orchestrator status``."""

import typer

from orchestrator.cli._client import ask
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import count, printable
from orchestrator.cli._tables import table
from orchestrator.control.protocol import STATUS, AgentReport, RecentTurn, StatusReport

SHORT_ID = 8  # characters of a turn's id, enough to find it in the log

app = command_group()


@app.command()
def status(*, as_json: AsJson = False, home: Home = None) -> None:
    """Show the state of the running daemon.

    Agents, channels, MCP servers, problems of the configuration, and the last turns with their
    tools.
    """
    report = ask(load_settings(home), STATUS, None, StatusReport)
    if as_json:
        typer.echo(report.model_dump_json(by_alias=True, indent=2))
    else:
        _show(report)


def show_agents(agents: tuple[AgentReport, ...]) -> None:
    """Print the table of agents."""
    table(
        "Agents",
        ("agent", "state", "pid", "restarts", "provider", "model", "paused", "reason"),
        (_agent_row(agent) for agent in agents),
    )


def _show(report: StatusReport) -> None:
    state = "ready" if report.ready else "not ready"
    inbox = ", ".join(f"{number} {name}" for name, number in report.inbox.items()) or "empty"
    typer.echo(f"orchestrator {report.version}, {state}")
    typer.echo(f"home    {report.home}\nconfig  {report.config_file}")
    typer.echo(f"journal {report.journal_bytes / 1e6:.1f} MB")
    typer.echo(f"turns   {count(report.open_turns, 'open turn')}\ninbox   {inbox}\n")
    show_agents(report.agents)
    table(
        "Channels",
        ("channel", "state", "detail"),
        ((channel.name, channel.state, channel.detail) for channel in report.channels),
    )
    table(
        "MCP servers",
        ("server", "state", "tools", "problem"),
        ((s.name, s.state, s.tools, s.error) for s in report.tool_servers),
    )
    table(
        "Problems of the configuration",
        ("where", "severity", "message"),
        (
            (f"{problem.file}:{problem.line}", problem.severity, problem.message)
            for problem in report.config_errors
        ),
    )
    table(
        "Recent turns",
        ("turn", "agent", "chat", "state", "stop reason", "tools", "ms"),
        (_turn_row(turn) for turn in report.recent_turns),
    )
    for hint in report.hints:
        typer.echo(printable(hint))


def _agent_row(agent: AgentReport) -> tuple[object, ...]:
    return (
        agent.agent_id,
        agent.state,
        agent.pid,
        agent.restarts,
        agent.provider,
        agent.model,
        agent.paused,
        agent.reason,
    )


def _turn_row(turn: RecentTurn) -> tuple[object, ...]:
    return (
        turn.turn_id[:SHORT_ID],
        turn.agent_id,
        turn.chat,
        turn.state,
        turn.stop_reason,
        ", ".join(turn.tools),
        turn.ms,
    )
