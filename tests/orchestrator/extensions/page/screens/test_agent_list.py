"""The agents on the page."""

from pathlib import Path

import htpy as h
from fakes.control_server import STATUS
from fakes.edited_page import edited_page
from fakes.screens import html, request

from orchestrator.control.agent_report import AgentReport, BudgetUse
from orchestrator.control.editing import EditableFile, EditableFiles
from orchestrator.extensions.page.reads.activity import TurnInProgress
from orchestrator.extensions.page.screens import agent_list
from thinker.protocol.messages import JsonObject

LIMIT = BudgetUse(window="Day", tokens=10, usd=0.5, token_limit=None, usd_limit=1.0)
AGENT = AgentReport(
    agent_id="home",
    state="idle",
    pid=None,
    restarts=0,
    provider="groq",
    model="qwen",
    budgets=(LIMIT,),
)
VALUE: JsonObject = {
    "agents": [
        {"agentId": "other"},
        {"agentId": "home", "prompt": "kind", "approvals": ["send_*"], "systemPrompt": "Be kind."},
    ],
    "bindings": [
        {"channel": "telegram", "chatId": "*", "agentId": "other"},
        {"channel": "telegram", "chatId": 9, "agentId": "home"},
    ],
    "fallbackAgentId": "home",
}
TEXTS = EditableFiles(
    files=tuple(
        EditableFile(name=name, title="a text")
        for name in ("prompts/kind.yaml", "prompts/other.yaml", "personas/home/persona.md")
    )
)


def test_one_agent_gathers_what_belongs_to_it() -> None:
    """Its place in the file, its chats, its texts, and what it may do."""
    titled = agent_list.render_agent(request(), AGENT, "home", VALUE, TEXTS)
    page = html([titled.content, titled.actions])
    assert "at=agents%2F1" in page
    assert "telegram:9" in page
    assert "at=bindings%2F1" in page
    assert "all chats without a binding" in page
    assert "send_*" in page
    assert "/texts/prompts/kind.yaml" in page
    assert "other.yaml" not in page
    assert "Be kind." in page


def test_state_is_that_of_the_first_screen() -> None:
    """A process that runs and has nothing in hand is idle."""
    running = AGENT.model_copy(update={"state": "running"})
    report = STATUS.model_copy(update={"agents": (running,)})
    assert "idle" in html(agent_list.render_agents(request(), report).content)
    turn = TurnInProgress("t1", "home", "telegram/1/7/", "running", None, 1)
    assert "running" in html(agent_list.render_agents(request(), report, [turn]).content)


def test_agent_without_texts_says_so() -> None:
    """Not an empty card."""
    titled = agent_list.render_agent(request(), AGENT, "home", {}, EditableFiles(files=()))
    assert "No texts of its own." in html(titled.content)


def test_budget_of_today_grows_by_a_button() -> None:
    """Only for an agent that has one, and for who may change it."""
    page = html(agent_list.render_agent(request(), AGENT, "home", VALUE, TEXTS).actions)
    assert "Pause" in page
    listed = html(_list_agents("operator"))
    assert "+ $0.10 today" in listed
    assert "+ $0.10 today" not in html(_list_agents("viewer"))


def _list_agents(role: str) -> h.Node:
    report = STATUS.model_copy(update={"agents": (AGENT,)})
    return agent_list.render_agents(request(role), report).content


async def test_screen_of_an_agent_reads_the_file_and_its_tasks(tmp_path: Path) -> None:
    """An agent that no one knows leads back to all of them."""
    async with edited_page(tmp_path) as page:
        shown = await page.open("/agents/home")
        assert "No task runs by itself." in shown
        assert "at=agents%2F1" in shown
        assert "No agent is called nothing." in await page.open("/agents/nothing")
