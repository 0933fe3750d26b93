"""The choice of an agent: a list of a few, or a field for the name of one of many."""

import glob
from typing import NamedTuple

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.agent_report import AgentReport, StatusRequest
from orchestrator.control.protocol import StatusReport
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.html.outside_text import is_plain_text, show_hidden_characters
from orchestrator.extensions.page.html.vocabulary import render_choice
from orchestrator.extensions.page.screen_request import ScreenRequest


class KnownAgents(NamedTuple):
    """Names of agents; there are others too unless they are ``whole``."""

    names: tuple[str, ...] = ()
    whole: bool = True


NOT_KNOWN = KnownAgents(whole=False)


def read_known_agents(report: StatusReport) -> KnownAgents:
    """Return the agents of a report, without subagents."""
    names = tuple(one.agent_id for one in report.agents if not one.parent)
    return KnownAgents(names, whole=not report.agents_left_out)


async def load_known_agents(request: ScreenRequest) -> KnownAgents:
    """Return the agents that the daemon tells of, without subagents."""
    return read_known_agents(
        await edit_calls.ask_extension(request, protocol.STATUS, None, StatusReport)
    )


async def find_agent_report(request: ScreenRequest, name: str) -> AgentReport | None:
    """Return the daemon's report of one agent; None if there is no such agent."""
    asked = StatusRequest(agents=glob.escape(name), most=1)
    report = await edit_calls.ask_extension(request, protocol.STATUS, asked, StatusReport)
    return next((one for one in report.agents if one.agent_id == name), None)


async def has_agent(request: ScreenRequest, agents: KnownAgents, name: str) -> bool:
    """Return whether there is such an agent, among those known or the others."""
    if name in agents.names or agents.whole:
        return name in agents.names
    found = await find_agent_report(request, name)
    return found is not None and not found.parent


def render_agent_choice(
    name: str, agents: KnownAgents, chosen: str = "", *, none: str = "", listed: str = ""
) -> h.Node:
    """Render a list of the agents; if there are more, a field that suggests some of them.

    ``none`` says what it means to choose none; without it, one must be chosen. ``listed`` is the
    id of the suggestions, which only one field of a screen may have.
    """
    names = filter(None, dict.fromkeys((*filter(is_plain_text, agents.names), chosen)))
    if agents.whole:
        choices = [(one, show_hidden_characters(one)) for one in names]
        return render_choice(name, [("", none), *choices] if none else choices, chosen)
    listed = listed or f"{name}-names"
    return [
        h.input(
            name=name,
            value=chosen,
            list=listed,
            required=not none,
            placeholder=none or "name of an agent",
            autocomplete="off",
            spellcheck="false",
        ),
        render_suggestions(agents, listed),
    ]


def render_suggestions(agents: KnownAgents, listed: str) -> h.Element:
    """Render the names that a field with ``list=listed`` suggests."""
    return h.datalist(id=listed)[(h.option(value=one) for one in agents.names)]
