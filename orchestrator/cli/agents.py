"""``orchestrator agents``."""

from typing import Annotated

import typer

from orchestrator.cli._client import ask, order
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._tables import print_json
from orchestrator.cli.status import show_agents
from orchestrator.control import protocol

app = command_group("agents")


@app.command("list")
def list_agents(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the agents of the running daemon."""
    agents = ask(load_settings(home), protocol.STATUS, None, protocol.StatusReport).agents
    if as_json:
        print_json({"agents": agents})
    else:
        show_agents(agents)


@app.command()
def pause(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")],
    *,
    home: Home = None,
) -> None:
    """Pause an agent until it is resumed; its messages are kept."""
    order(load_settings(home), protocol.AGENT_PAUSE, protocol.AgentName(agent_id=agent))
    typer.echo(f"agent '{agent}' is paused; its messages are kept")


@app.command()
def resume(
    agent: Annotated[
        str, typer.Argument(metavar="AGENT", help="Id of an agent that is paused or keeps failing.")
    ],
    *,
    home: Home = None,
) -> None:
    """Resume an agent now: after a pause or after repeated failures."""
    order(load_settings(home), protocol.AGENT_RESUME, protocol.AgentName(agent_id=agent))
    typer.echo(f"agent '{agent}' takes messages again")
