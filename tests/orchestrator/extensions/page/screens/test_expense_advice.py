"""Budgets, forecasts and savings."""

from pathlib import Path

from fakes.page import page_bench
from fakes.screens import html, request
from fakes.trials import CHANGE, ESTIMATE, EVIL, TRIAL
from pydantic import BaseModel, JsonValue

from orchestrator.control import trials
from orchestrator.control.agent_report import AgentReport, BudgetUse
from orchestrator.control.trials import TrialRequest
from orchestrator.extensions.page.screens import expense_advice
from orchestrator.extensions.page.screens.expense_advice import (
    COSTS_SAVINGS,
    ShownForecast,
    ShownSaving,
    ShownSavings,
)

LIMIT = BudgetUse(window="Day", tokens=0, usd=0.08, token_limit=None, usd_limit=0.2)
HOME = AgentReport(
    agent_id="home",
    state="running",
    pid=1,
    restarts=0,
    provider="groq",
    model="big",
    budgets=(LIMIT,),
)
SAVING = ShownSaving(
    agent_id="home",
    text=f"a cheaper model {EVIL}",
    field="model",
    value="small",
    month_usd=12.5,
    trial=TrialRequest(turns=("t1",), change=CHANGE, limit_usd=0.03),
)


def test_budget_of_today_can_be_raised_by_those_who_may() -> None:
    """Once, by a button."""
    page = html(expense_advice.render_budgets(request(), [HOME]))
    assert "$0.08 of $0.20 today" in page
    assert page.count("+ $0.10 today") == 1
    viewer = html(expense_advice.render_budgets(request("viewer"), [HOME], [LIMIT]))
    assert "+ $0.10 today" not in viewer


def test_budget_of_all_agents_stands_first() -> None:
    """It is raised without the name of an agent, and foreseen in words."""
    foreseen = [ShownForecast(agent_id="", text="The month will cost about $14 ± 8 %.")]
    page = html(expense_advice.render_budgets(request(), [HOME], [LIMIT], foreseen))
    assert page.index("all agents together") < page.index("home")
    assert 'name="agentId" value=""' in page
    assert "The month will cost about $14 ± 8 %." in page


def test_without_budgets_nothing_is_shown_but_a_forecast() -> None:
    """If there is one."""
    free = HOME.model_copy(update={"budgets": ()})
    assert html(expense_advice.render_budgets(request(), [free])) == ""
    foreseen = [ShownForecast(agent_id="", text="Too few days.")]
    assert "Too few days." in html(expense_advice.render_budgets(request(), [free], (), foreseen))


def test_saving_has_no_figure_before_it_was_tried() -> None:
    """Then it says how much, and how many answers stayed alike."""
    found = ShownSavings(savings=(SAVING,))
    page = html(expense_advice.render_savings(request(), found).content)
    assert "<script" not in page
    assert "what this saves is not known before it is tried" in page
    assert "/costs/savings?try=0" in page
    tried = SAVING.model_copy(
        update={"state": "tried", "saved_usd": 7.25, "tried": 20, "alike": 18, "trial_id": 7}
    )
    page = html(expense_advice.render_savings(request(), ShownSavings(savings=(tried,))).content)
    assert "this would save about $7.25; 18 of 20 turns answered alike." in page
    assert "Try it" not in page
    assert 'href="/trials/7"' in page
    none = html(expense_advice.render_savings(request(), ShownSavings()).content)
    assert "Nothing is known now that would save money." in none


async def test_saving_is_tried_after_its_estimate(tmp_path: Path) -> None:
    """Only the one that was shown."""
    async with page_bench(tmp_path) as bench:
        answers: dict[str, BaseModel] = {
            COSTS_SAVINGS: ShownSavings(savings=(SAVING,)),
            trials.TRIAL_ESTIMATE: ESTIMATE,
            trials.TRIAL_START: TRIAL,
        }
        for method, answer in answers.items():

            async def answer_call(params: JsonValue, answer: BaseModel = answer) -> BaseModel:
                del params
                return answer

            bench.answers[method] = answer_call
        person = await bench.login()
        asked = (await person.get("/costs/savings?try=0")).text
        assert "$0.0020 to $0.0060" in asked
        assert "It stops at $0.03." in asked
        other = await person.post("/costs/savings?try=0", {"value": "another"})
        assert other.status_code == 200
        done = await person.post("/costs/savings?try=0", {"value": "small", "once": "form-0002"})
        assert done.headers["location"] == "/trials/7"
        assert [name for _, name, _ in bench.acts].count(trials.TRIAL_START) == 1
