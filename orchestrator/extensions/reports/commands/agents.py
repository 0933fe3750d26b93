"""``orchestrator agents``."""

from typing import Annotated

import typer

from orchestrator.cli.client import ask_daemon, send_order
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.daemon_reports import print_agents
from orchestrator.cli.listed_agents import EveryAgent, ListedAgents, make_status_request
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.tables import print_json
from orchestrator.control import protocol

app = make_command_group("agents")


@app.command("list")
def list_agents(
    *,
    agents: ListedAgents = "",
    every: EveryAgent = False,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """List the agents of the running daemon; of many, a few that need attention first."""
    asked = make_status_request(agents, every=every)
    report = ask_daemon(load_settings(home), protocol.STATUS, asked, protocol.StatusReport)
    if as_json:
        print_json({"agents": report.agents, "agentsLeftOut": report.agents_left_out})
    else:
        print_agents(report)


@app.command()
def pause(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")],
    *,
    home: Home = None,
) -> None:
    """Pause an agent until it is resumed; its messages are kept."""
    send_order(load_settings(home), protocol.AGENT_PAUSE, protocol.AgentName(agent_id=agent))
    typer.echo(f"agent '{agent}' is paused; its messages are kept")


@app.command()
def resume(
    agent: Annotated[
        str, typer.Argument(metavar="AGENT", help="Id of an agent that is paused or keeps failing.")
    ],
    *,
    home: Home = None,
) -> None:
    """Resume an agent now, after a pause or repeated failures."""
    send_order(load_settings(home), protocol.AGENT_RESUME, protocol.AgentName(agent_id=agent))
    typer.echo(f"agent '{agent}' takes messages again")
