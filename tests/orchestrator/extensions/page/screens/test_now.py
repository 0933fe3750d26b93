"""The first screen."""

from fakes.control_server import STATUS
from fakes.screens import html, request

from orchestrator.control.protocol import AgentReport
from orchestrator.extensions.page.reads.activity import RecentSpending
from orchestrator.extensions.page.screens import now

DEMO = AgentReport(
    agent_id="home", state="stopped", pid=None, restarts=0, provider="demo", model="demo"
)
PAUSED = DEMO.model_copy(
    update={"agent_id": "work", "provider": "groq", "paused": "<script>budget</script>"}
)
LATELY = now.RecentActivity([0, 2, 1], {"work": RecentSpending(41_000, 0.12, 1)}, 2)


def test_new_home_is_shown_the_first_steps() -> None:
    """Until a model is plugged in."""
    first = html(now.render_now(request(), STATUS.model_copy(update={"agents": (DEMO,)}), LATELY))
    assert "Open a chat" in first
    assert "orchestrator setup" in first
    both = STATUS.model_copy(update={"agents": (DEMO, PAUSED)})
    assert "Open a chat" not in html(now.render_now(request(), both, LATELY))


def test_agent_says_what_its_turns_did_without() -> None:
    """In the words of the provider, which do nothing on the page."""
    lacking = ("with less: <script>search left out</script>",)
    agent = DEMO.model_copy(update={"lacking": lacking})
    page = html(now.render_now(request(), STATUS.model_copy(update={"agents": (agent,)}), LATELY))
    assert "with less: &lt;script&gt;search left out" in page


def test_agent_says_why_it_is_paused_and_what_it_cost() -> None:
    """With a way to go on for those who may."""
    report = STATUS.model_copy(update={"agents": (PAUSED,)})
    page = html(now.render_now(request(), report, LATELY))
    assert "&lt;script&gt;budget" in page
    assert "41 k" in page
    assert "$0.1200 + unknown" in page
    assert "Resume" in page
    assert "2 things wait" in page
    viewer = html(now.render_now(request("viewer"), report, LATELY))
    assert "Resume" not in viewer
    assert "things wait" not in viewer
