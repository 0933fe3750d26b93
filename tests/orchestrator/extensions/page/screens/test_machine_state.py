"""System on the page."""

from fakes.control_server import STATUS
from fakes.screens import html, request

from orchestrator.control.protocol import ProcessReport
from orchestrator.extensions.page.daemon_side.page_protocol import ProcessFigures
from orchestrator.extensions.page.screens import machine_state

PROCESSES = (
    ProcessReport(name="supervisor", pid=1, sandbox="keys-only", reason="it owns the home"),
    ProcessReport(name="zygote", pid=2, sandbox="keys-only", reason="it forks workers"),
    ProcessReport(name="agent home", pid=3, sandbox="off", reason="no Landlock"),
)
FIGURES = (
    ProcessFigures(pid=1, memory_bytes=40_000_000, cpu_seconds=5, age_seconds=500),
    ProcessFigures(pid=3, memory_bytes=7_000_000, cpu_seconds=1, age_seconds=60),
)


def test_each_process_says_what_it_takes_and_may_reach() -> None:
    """A jail that has to be open is no fault; a missing one is."""
    report = STATUS.model_copy(update={"processes": PROCESSES})
    page = html(machine_state.render_system(request(), report, FIGURES))
    assert "40.0 MB" in page
    assert "1.0 %" in page
    assert "(8 min)" in page
    assert "47.0 MB of 2 processes" in page
    assert 'class="state warn"' not in page
    assert page.count('class="state bad"') == 1
    assert "not confined (no Landlock)" in page
