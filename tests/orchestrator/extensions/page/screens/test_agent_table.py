"""The agents on the first screen."""

from fakes.screens import NOW, html, request

from orchestrator.control.agent_report import AgentReport, BudgetUse
from orchestrator.extensions.page.daemon_side.page_protocol import ProcessFigures
from orchestrator.extensions.page.reads.activity import RecentSpending, TurnInProgress
from orchestrator.extensions.page.screens import agent_table

HOME = AgentReport(
    agent_id="home", state="running", pid=7, restarts=1, provider="groq", model="qwen"
)
FATAL = HOME.model_copy(
    update={
        "agent_id": "bad",
        "state": "fatal",
        "pid": None,
        "restarts": 0,
        "reason": "agent 'bad' cannot answer, because GROQ_API_KEY is not set; put it anywhere"
        " and run: orchestrator reload",
    }
)
PROCESS = ProcessFigures(pid=7, memory_bytes=7_000_000, cpu_seconds=1, age_seconds=100)


def shown(*agents: AgentReport, turns: int = 0, **query: str) -> str:
    """The table."""
    doing = [
        TurnInProgress(f"t{n}", "home", f"telegram/1/{n}/", "running", None, NOW)
        for n in range(turns)
    ]
    spent = {"home": RecentSpending(1, 0.5, 0)}
    rows = agent_table.build_agent_rows(agents, spent, doing, [PROCESS])
    return html(agent_table.render_agents(request(**query), rows))


def test_state_is_told_in_words_of_people() -> None:
    """With the reason, and what its process takes."""
    page = shown(HOME, FATAL)
    assert "cannot start" in page
    assert "GROQ_API_KEY is not set" in page
    assert "fatal" not in page
    assert "orchestrator reload" not in page
    assert "restarted once" in page
    assert "7.0 MB" in page


def test_many_turns_of_an_agent_are_one_line() -> None:
    """The newest is in sight, the others are folded."""
    page = shown(HOME, turns=21)
    assert "21 in hand" in page
    assert page.index("telegram:0") < page.index("</summary>") < page.index("telegram:1<")


def test_budget_never_breaks_in_a_number() -> None:
    """In dollars or tokens."""
    use = BudgetUse(window="Hour", tokens=400_000, usd=0, token_limit=500_000, usd_limit=None)
    assert "400\u202fk of 500\u202fk tokens this hour" in html(agent_table.render_budget(use))
    small = BudgetUse(window="Day", tokens=0, usd=0.0005, token_limit=None, usd_limit=0.1)
    assert "$0.0005 of $0.10 today" in html(agent_table.render_budget(small))


def test_hundred_agents_can_be_filtered_and_sorted() -> None:
    """By name, model, state, and what they used."""
    agents = [HOME.model_copy(update={"agent_id": f"a{n}", "pid": n}) for n in range(98)]
    page = shown(*agents, HOME, FATAL, by="cost")
    assert "100 of 100 agents" in page
    assert page.index(">home<") < page.index(">a0<")
    found = shown(*agents, HOME, FATAL, state="fatal")
    assert "1 of 100 agents" in found
    assert ">home<" not in found
    assert "1 of 100 agents" in shown(*agents, HOME, FATAL, agent="HOME")
