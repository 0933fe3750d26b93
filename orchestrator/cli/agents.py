"""``orchestrator agents``."""

from typing import Annotated

import typer

from orchestrator.cli._client import ask
from orchestrator.cli._options import AsJson, Home, command_group, settings
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
    """List the agents, pause one, or put it back to work."""


@app.command("list")
def list_agents(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the agents of the running daemon."""
    agents = ask(settings(home), STATUS, None, StatusReport).agents
    if as_json:
        typer.echo(AgentList(agents=agents).model_dump_json(by_alias=True, indent=2))
    else:
        show_agents(agents)


@app.command()
def pause(
    agent: Annotated[str, typer.Argument(help="An agent.")],
    *,
    home: Home = None,
) -> None:
    """Let an agent answer nothing until it is resumed; its messages are kept."""
    ask(settings(home), AGENT_PAUSE, AgentName(agent_id=agent), Ack)
    typer.echo(f"agent '{agent}' is paused; its messages are kept")


@app.command()
def resume(
    agent: Annotated[str, typer.Argument(help="An agent that failed too often, or is paused.")],
    *,
    home: Home = None,
) -> None:
    """Put an agent back to work at once: after repeated failures, or after a pause."""
    ask(settings(home), AGENT_RESUME, AgentName(agent_id=agent), Ack)
    typer.echo(f"agent '{agent}' takes messages again")
