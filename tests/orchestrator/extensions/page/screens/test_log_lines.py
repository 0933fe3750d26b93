"""The log on the page."""

from fakes.screens import html, request

from orchestrator.extensions.page.screen_request import ScreenRequest
from orchestrator.extensions.page.screens import log_lines

LINES = (
    '{"event":"turn_failed","level":"error","agent_id":"home","turn_id":"t1"}',
    '{"event":"config_applied","level":"info","agents":["home"]}',
    '{"event":"worker_ready","level":"debug"}',
    "a stray line",
    "",
)


def shown(asked: ScreenRequest) -> str:
    """The log on a screen."""
    return html(log_lines.render_log(asked, LINES).content)


def test_newest_line_is_at_the_top_and_debug_is_left_out() -> None:
    """A line that is no JSON is shown as it is."""
    page = shown(request())
    assert page.index("a stray line") < page.index("turn failed")
    assert "worker ready" not in page
    assert 'href="/turns/t1"' in page


def test_filters_are_about_level_agent_turn_and_text() -> None:
    """All that are given must fit."""
    assert "worker ready" in shown(request(level="debug"))
    assert "1 of the newest" in shown(request(level="error"))
    assert "1 of the newest" in shown(request(agent="home", turn="t1"))
    assert "1 of the newest" in shown(request(text="STRAY"))
    assert "No matching lines" in shown(request(text="nowhere"))


def test_day_stands_once_above_its_lines() -> None:
    """In the zone of the page; each line has its time and level."""
    lines = [
        f'{{"event":"e{n}","level":"warning","agent_id":"home","timestamp":"2026-03-{at}Z"}}'
        for n, at in enumerate(("19T23:59:58", "20T08:00:01", "20T09:00:00"))
    ]
    page = html(log_lines.render_log(request(), lines).content)
    assert page.count("2026-03-20") == 1
    assert page.index("Friday 2026-03-20") < page.index("09:00:00") < page.index("Thursday")
    assert page.count('class="warning"') == 3
    assert "home: e1" not in page  # the agent is beside the sentence


def test_log_that_is_paused_does_not_change() -> None:
    """Until one goes on, with the same filters."""
    paused = log_lines.render_log(request(pause="1", level="error"), LINES)
    assert "Go on" in html(paused.actions)
    assert 'href="/logs?level=error"' in html(paused.actions)
