"""The turn that warms up the zygote."""

import socket
import threading

import pytest
from structlog.testing import capture_logs

from thinker.http.client import tls_context
from thinker.warmup import rehearse


async def test_rehearsal_runs_a_whole_turn_and_leaves_no_thread() -> None:
    """With a tool call; a process with threads could not fork safely."""
    before = set(threading.enumerate())
    tls_context.cache_clear()
    with capture_logs() as logged:
        await rehearse()
    events = [event["event"] for event in logged]
    assert "tools_selected" in events
    assert not {"rehearsal_failed", "no_rehearsal"}.intersection(events)
    assert set(threading.enumerate()) <= before
    assert tls_context.cache_info().currsize == 1  # no worker reads the certificates again


async def test_without_loopback_there_is_no_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox may lack it; its workers only start a little slower."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network here")

    monkeypatch.setattr(socket, "create_server", refuse)
    with capture_logs() as logged:
        await rehearse()
    assert [event["event"] for event in logged] == ["no_rehearsal"]
