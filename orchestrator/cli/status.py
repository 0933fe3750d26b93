"""``orchestrator status``."""

import typer

from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.daemon_reports import print_status
from orchestrator.cli.listed_agents import EveryAgent, ListedAgents, make_status_request
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.control.protocol import STATUS, StatusReport

app = make_command_group()


@app.command()
def status(
    *,
    agents: ListedAgents = "",
    every: EveryAgent = False,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Show the state of the running daemon.

    Shows agents, processes and how well each is jailed, channels, MCP servers, problems of the
    configuration, and the last turns with their tools. Of many agents it lists a few, those that
    need attention first.
    """
    asked = make_status_request(agents, every=every)
    report = ask_daemon(load_settings(home), STATUS, asked, StatusReport)
    raise typer.Exit(print_status(report, as_json=as_json))
