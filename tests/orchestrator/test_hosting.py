"""What breaks the event loop of a daemon ends the daemon."""

import anyio
import pytest
import structlog

from orchestrator import hosting


def test_task_that_ends_the_process_ends_the_daemon_with_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if another task waits for it; the log says what it raised, and the exit is none."""
    monkeypatch.setattr(hosting, "LAST", 0.0)

    async def fail() -> None:
        raise SystemExit(0)

    async def wait() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail)
            with anyio.CancelScope(shield=True):
                await anyio.sleep_forever()

    with structlog.testing.capture_logs() as lines, pytest.raises(RuntimeError) as raised:
        anyio.run(wait, backend_options={"loop_factory": hosting.BoundedLoop})
    assert [line["event"] for line in lines] == ["event_loop_broke"]
    assert "a task ended the daemon: SystemExit(0)" in str(raised.value.__context__)
