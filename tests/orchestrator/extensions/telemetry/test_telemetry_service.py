"""An exporter that breaks, in virtual time."""

import itertools

import anyio
from structlog.testing import capture_logs

from orchestrator.extensions.selftest.simulator.virtual_loop import VirtualLoop
from orchestrator.extensions.telemetry import telemetry_service
from orchestrator.extensions.telemetry.collector_trouble import CollectorTrouble


def test_fault_of_an_exporter_does_not_end_the_daemon() -> None:
    """It is logged with its place, told to the operator, and tried again."""
    trouble = CollectorTrouble("c:4318", "traces", "It gets them later", lambda: 1.0)
    runs: list[float] = []

    async def run() -> None:
        runs.append(anyio.current_time())
        raise ZeroDivisionError

    async def main() -> None:
        with anyio.move_on_after(10 * telemetry_service.RETRY_SECONDS):
            await telemetry_service._keep_running(run, trouble)
        (hint,) = trouble.list_hints()
        assert "an internal fault" in hint

    loop = VirtualLoop(0.0, itertools.count())
    with capture_logs() as lines:
        loop.run(main())
    assert loop.problems == []
    assert runs[:3] == [0.0, telemetry_service.RETRY_SECONDS, 2 * telemetry_service.RETRY_SECONDS]
    broke = [line for line in lines if line["event"] == "collector_broke"]
    assert len(broke) == len(runs)
    assert broke[0]["exc_info"]
