"""The log on the page."""

from fakes.screens import html, request

from orchestrator.extensions.page.screens import log_lines

LINES = (
    '{"event":"turn_failed","level":"error","agent_id":"home","turn_id":"t1"}',
    '{"event":"config_applied","level":"info","agents":["home"]}',
    '{"event":"worker_ready","level":"debug"}',
    "a stray line",
    "",
)


def test_newest_line_is_at_the_top_and_debug_is_left_out() -> None:
    """A line that is no JSON is shown as it is."""
    page = html(log_lines.render_log(request(), LINES))
    assert page.index("a stray line") < page.index("turn failed")
    assert "worker ready" not in page
    assert 'href="/turns/t1"' in page


def test_filters_are_about_level_agent_turn_and_text() -> None:
    """All that are given must fit."""
    assert "worker ready" in html(log_lines.render_log(request(level="debug"), LINES))
    assert "1 of the newest" in html(log_lines.render_log(request(level="error"), LINES))
    assert "1 of the newest" in html(log_lines.render_log(request(agent="home", turn="t1"), LINES))
    assert "1 of the newest" in html(log_lines.render_log(request(text="STRAY"), LINES))
    assert "No matching lines" in html(log_lines.render_log(request(text="nowhere"), LINES))
