"""``orchestrator agents``."""

from typing import Annotated

import typer

from orchestrator.cli._client import ask
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli.status import show_agents
from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import (
    AGENT_PAUSE,
    AGENT_RESUME,
    STATUS,
    Ack,
    AgentName,
    AgentReport,
    StatusReport,
)

app = command_group()


class AgentList(CamelModel):
    """What ``agents list --json`` prints."""

    agents: tuple[AgentReport, ...]


@app.callback()
def _group() -> None:
    """List, pause or resume agents."""


@app.command("list")
def list_agents(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the agents of the running daemon."""
    agents = ask(load_settings(home), STATUS, None, StatusReport).agents
    if as_json:
        typer.echo(AgentList(agents=agents).model_dump_json(by_alias=True, indent=2))
    else:
        show_agents(agents)


@app.command()
def pause(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")],
    *,
    home: Home = None,
) -> None:
    """Pause an agent until it is resumed; its messages are kept."""
    ask(load_settings(home), AGENT_PAUSE, AgentName(agent_id=agent), Ack)
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
    ask(load_settings(home), AGENT_RESUME, AgentName(agent_id=agent), Ack)
    typer.echo(f"agent '{agent}' takes messages again")
