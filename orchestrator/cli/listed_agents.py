"""The options of commands that list agents, of which there may be thousands."""

from typing import Annotated

import typer

from orchestrator.control.agent_report import MOST_AGENTS, StatusRequest

ALL = 1_000_000  # more agents than there can be

ListedAgents = Annotated[
    str, typer.Option("--agents", metavar="GLOB", help="Only agents whose id matches.")
]
EveryAgent = Annotated[bool, typer.Option("--all", help="List every agent, however many.")]


def make_status_request(agents: str, *, every: bool) -> StatusRequest:
    """Return the request for the agents that the options choose."""
    return StatusRequest(agents=agents or "*", most=ALL if every else MOST_AGENTS)
