"""What the extension adds to the doctor."""

from pathlib import Path

from fakes.control_server import STATUS

from orchestrator.control.agent_report import BudgetUse
from orchestrator.extensions.spending_advice.extension import SpendingAdviceExtension
from orchestrator.settings import Settings


def test_doctor_warns_of_a_shared_budget_that_is_nearly_used_up(tmp_path: Path) -> None:
    """And has a line for one with room; without a daemon none is known."""
    uses = [
        BudgetUse(window="Day", tokens=0, usd=0.5, token_limit=None, usd_limit=1),
        BudgetUse(window="Month", tokens=0, usd=4.5, token_limit=None, usd_limit=5),
    ]
    settings, extension = Settings(home=tmp_path), SpendingAdviceExtension()
    status = STATUS.model_copy(update={"budgets": tuple(uses)})
    day, month = extension.list_findings(settings, None, status)
    assert (day.verdict, day.text) == ("ok", "50% of the shared limit of this day is used")
    assert month.verdict == "warning"
    assert month.text.endswith("this month is used; see: orchestrator budget")
    assert [*extension.list_findings(settings, None, None)] == []
