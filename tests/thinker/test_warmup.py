"""The turn that warms up the zygote."""

import threading

from structlog.testing import capture_logs

from thinker.http.broker_link import open_broker_link
from thinker.http.tls import tls_context
from thinker.warmup import rehearse_turn


async def test_rehearsal_runs_a_whole_turn_and_leaves_no_thread() -> None:
    """With a tool call; a process with threads could not fork safely."""
    before = set(threading.enumerate())
    tls_context.cache_clear()
    with capture_logs() as logged:
        await rehearse_turn()
    events = [event["event"] for event in logged]
    assert "tools_selected" in events
    assert "rehearsal_failed" not in events
    assert set(threading.enumerate()) <= before


async def test_rehearsal_needs_no_network_and_leaves_no_channel() -> None:
    """The broker alone reads certificates; a worker must not take the rehearsal's descriptor."""
    tls_context.cache_clear()
    await rehearse_turn()
    assert tls_context.cache_info().currsize == 0
    assert open_broker_link.cache_info().currsize == 0
