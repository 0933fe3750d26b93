"""``orchestrator agents``."""

from typing import Annotated

import typer

from orchestrator.cli.client import ask_daemon, send_order
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.daemon_reports import AGENTS
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.tables import print_json, print_records
from orchestrator.control import protocol

app = make_command_group("agents")


@app.command("list")
def list_agents(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the agents of the running daemon."""
    agents = ask_daemon(load_settings(home), protocol.STATUS, None, protocol.StatusReport).agents
    if as_json:
        print_json({"agents": agents})
    else:
        print_records("Agents", agents, AGENTS)


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
