"""The choice of an agent, where there are few and where there are thousands."""

import fnmatch
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.control_server import STATUS
from fakes.page import PageBench, page_bench
from fakes.screens import html, request
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.control.agent_report import AgentReport, StatusRequest
from orchestrator.control.editing import FILE_READ, FileText
from orchestrator.extensions.page.daemon_side.page_protocol import DASHBOARD_INVITE
from orchestrator.extensions.page.screens.composer import render_composer
from orchestrator.extensions.page.screens.known_agents import KnownAgents, render_agent_choice
from thinker.protocol.peer import Params

COUNT, LAST = 10_000, "agent-9999"
NAMES = [f"agent-{number}" for number in range(COUNT)]
MANY = KnownAgents(("home", "work"), whole=False)


async def _report(params: JsonValue) -> Params:
    """Tell of the agents that are asked for, as the daemon does."""
    asked = StatusRequest.model_validate(params or {})
    found = fnmatch.filter(NAMES, asked.agents)
    agents = tuple(
        AgentReport(agent_id=name, state="stopped", pid=None, restarts=0, provider="p", model="m")
        for name in found[: asked.most]
    )
    left_out = len(found) - len(agents)
    return STATUS.model_copy(update={"agents": agents, "agents_left_out": left_out})


@asynccontextmanager
async def _page_of_many(tmp_path: Path) -> AsyncIterator[PageBench]:
    async with page_bench(tmp_path) as bench:
        bench.answers[protocol.STATUS] = _report
        yield bench


def test_few_agents_are_a_list() -> None:
    """With the one that is chosen, even if it is there no more."""
    shown = html(render_agent_choice("agent", KnownAgents(("home",)), "gone", none="all"))
    assert "<select" in shown
    assert '<option value="gone" selected>' in shown
    assert '<option value="">all</option>' in shown


def test_any_of_many_agents_can_be_named() -> None:
    """A few are suggested."""
    shown = html(render_agent_choice("agent", MANY, "agent-77"))
    assert "<select" not in shown
    assert 'value="agent-77"' in shown
    assert "required" in shown
    assert '<option value="work">' in shown
    assert "required" not in html(render_agent_choice("agent", MANY, none="all"))


def test_message_can_be_for_any_of_many_agents() -> None:
    """The daemon says if there is no such agent."""
    shown = html(render_composer(request(), "web/local/ann/1/", [], MANY))
    assert '<input name="agent"' in shown
    assert '<datalist id="agent-names">' in shown


@pytest.mark.parametrize("path", ["/tasks/new", "/try", "/costs"])
async def test_screen_offers_few_and_takes_any(tmp_path: Path, path: str) -> None:
    """The one of the address is chosen, though it is not among the first."""

    async def read(params: JsonValue) -> FileText:
        del params
        return FileText(name="tasks/new", text="", base="")

    async with _page_of_many(tmp_path) as bench:
        bench.answers[FILE_READ] = read
        person = await bench.login()
        shown = (await person.get(f"{path}?agent={LAST}")).text
        assert f'<input name="agent" value="{LAST}"' in shown
        assert shown.count('<option value="agent-') == 50


async def test_guest_may_be_let_in_to_any_agent_there_is(tmp_path: Path) -> None:
    """A name that no agent has is refused."""
    invited: list[JsonValue] = []

    async def invite(params: JsonValue) -> Params:
        invited.append(params)
        return {"url": "http://orchestrator.localhost:8485/in#c0de"}

    async with _page_of_many(tmp_path) as bench:
        bench.answers[DASHBOARD_INVITE] = invite
        person = await bench.login()
        fields = {"do": "invite", "user": "bob", "role": "chat"}
        wrong = {**fields, "agents": "agent-*", "once": "form-0001"}
        assert "No agent is called agent-*" in (await person.post("/people", wrong)).text
        assert invited == []
        await person.post("/people", {**fields, "agents": LAST, "once": "form-0002"})
        assert len(invited) == 1


async def test_agents_are_found_by_part_of_their_names(tmp_path: Path) -> None:
    """The list has a few, and says how many more there are."""
    async with _page_of_many(tmp_path) as bench:
        person = await bench.login()
        shown = (await person.get("/agents")).text
        assert "and 9,950 more" in shown
        assert LAST not in shown
        assert LAST in (await person.get("/agents?agent=9999")).text
        assert "No agent has such a name." in (await person.get("/agents?agent=nowhere")).text
        assert "and 9,950 more" in (await person.get("/")).text
