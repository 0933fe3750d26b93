"""The composer of a chat, drawn from plain values."""

from fakes.screens import html, request

from orchestrator.extensions.page.screens.composer import render_composer
from orchestrator.extensions.page.screens.known_agents import KnownAgents
from orchestrator.journal.inspect.chat_history import TurnTalk

KEY = "web/local/ann/1/"


def test_stop_and_the_fate_of_the_answer_are_there_while_it_runs() -> None:
    """Not before, and not after."""
    running = html(
        render_composer(request(), KEY, [TurnTalk("t1", state="running")], KnownAgents(("home",)))
    )
    assert 'value="/stop"' in running
    assert 'name="whileBusy"' in running
    idle = html(
        render_composer(request(), KEY, [TurnTalk("t1", state="closed")], KnownAgents(("home",)))
    )
    assert "/stop" not in idle
    assert "whileBusy" not in idle


def test_agent_that_answered_last_is_chosen() -> None:
    """A new chat has the one that is set up."""
    turns = [TurnTalk("t1", agent_id="work", state="closed")]
    assert '<option value="work" selected>' in html(
        render_composer(request(), KEY, turns, KnownAgents(("home", "work")))
    )
    assert "agent: as set up</option>" in html(
        render_composer(request(), KEY, [], KnownAgents(("home",)))
    )


def test_agent_that_is_gone_is_not_replaced_by_the_first() -> None:
    """A chat whose agent was removed is answered as it is set up."""
    turns = [TurnTalk("t1", agent_id="gone", state="closed")]
    page = html(render_composer(request(), KEY, turns, KnownAgents(("home", "work"))))
    assert "agent: as set up</option>" in page
    assert "selected" not in page
