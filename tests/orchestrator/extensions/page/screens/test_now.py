"""The first screen."""

from fakes.control_server import STATUS
from fakes.screens import html, request

from orchestrator.config_problem import Problem
from orchestrator.control.agent_report import AgentReport
from orchestrator.control.protocol import StatusReport
from orchestrator.extensions.page.reads.activity import RecentSpending
from orchestrator.extensions.page.screens import now

DEMO = AgentReport(
    agent_id="home", state="stopped", pid=None, restarts=0, provider="demo", model="demo"
)
PAUSED = DEMO.model_copy(
    update={"agent_id": "work", "provider": "groq", "paused": "<script>budget</script>"}
)
LATELY = now.RecentActivity([0, 2, 1], {"work": RecentSpending(41_000, 0.12, 1)}, 2)


def shown(report: StatusReport, role: str = "operator") -> str:
    """The screen of someone with a role."""
    return html(now.render_now(request(role), report, LATELY).content)


def test_new_home_is_shown_the_first_steps() -> None:
    """Until a model is plugged in."""
    first = shown(STATUS.model_copy(update={"agents": (DEMO,)}))
    assert "Open a chat" in first
    assert 'href="/setup"' in first
    assert "orchestrator setup" not in first
    both = STATUS.model_copy(update={"agents": (DEMO, PAUSED)})
    assert "Open a chat" not in shown(both)


def test_agent_says_what_its_turns_did_without() -> None:
    """In the words of the provider, which do nothing on the page."""
    lacking = ("with less: <script>search left out</script>",)
    agent = DEMO.model_copy(update={"lacking": lacking})
    page = shown(STATUS.model_copy(update={"agents": (agent,)}))
    assert "with less: &lt;script&gt;search left out" in page


def test_agent_says_why_it_is_paused_and_what_it_cost() -> None:
    """With a way to go on for those who may."""
    report = STATUS.model_copy(update={"agents": (PAUSED,)})
    page = shown(report)
    assert "&lt;script&gt;budget" in page
    assert "41\u202fk" in page
    assert "$0.1200" in page
    assert "1 call without a known price" in page
    assert "Resume" in page
    assert "2 things wait" in page
    viewer = shown(report, "viewer")
    assert "Resume" not in viewer
    assert "things wait" not in viewer


def test_messages_are_told_in_words_of_people() -> None:
    """Those that wait, those in hand, and what was done today."""
    inbox = {"new": 2, "claimed": 1, "done": 500, "dead": 1}
    assert now.describe_messages(inbox, {"done": 20}) == (
        "2 wait, 1 being answered, 20 answered today"
    )
    assert now.describe_messages({"new": 1}, {"cancelled": 3}) == (
        "1 waits, 0 answered today, 3 stopped or refused today"
    )
    report = STATUS.model_copy(update={"agents": (PAUSED,), "inbox": inbox})
    assert "1 message was given up" in shown(report)


def test_problem_comes_before_warnings_with_a_way_to_its_line() -> None:
    """More than a few are folded."""
    warnings = [Problem("warning", "agents.json", n, None, f"odd {n}") for n in range(1, 6)]
    error = Problem("error", "agents.json", 14, "work", "unknown model")
    report = STATUS.model_copy(update={"agents": (PAUSED,), "config_errors": (*warnings, error)})
    page = shown(report)
    assert page.index("unknown model") < page.index("odd 1")
    assert 'href="/texts/agents.json?line=14"' in page
    assert "2 more" in page
