"""What is remembered of a collector that takes nothing, in virtual time: an hour passes at once."""

import itertools
from collections.abc import Awaitable, Callable

import anyio
from structlog.testing import capture_logs

from orchestrator.extensions.selftest.simulator.virtual_loop import VirtualLoop
from orchestrator.extensions.telemetry.collector_trouble import (
    HINT_AFTER_SECONDS,
    MAX_WAIT_SECONDS,
    CollectorTrouble,
)


def in_virtual_time(course: Callable[[CollectorTrouble], Awaitable[None]]) -> None:
    """Run a course of events to its end."""

    async def main() -> None:
        await course(CollectorTrouble("c:4318", "traces", "It gets them later", lambda: 0.5))

    loop = VirtualLoop(0.0, itertools.count())
    loop.run(main())
    assert loop.problems == []


def test_waits_grow_to_a_limit_and_honor_the_collector() -> None:
    """Each is jittered; a success begins anew."""

    async def course(trouble: CollectorTrouble) -> None:
        waits = [trouble.record_failure("status 503") for _ in range(12)]
        assert waits[:4] == [0.5, 1.0, 2.0, 4.0]
        assert waits[-3:] == [MAX_WAIT_SECONDS / 2] * 3
        assert trouble.record_failure("status 503", 3600.0) == 3600.0
        trouble.record_success()
        assert trouble.record_failure("status 503", 0.1) == 0.5

    in_virtual_time(course)


def test_operator_is_told_of_trouble_that_lasts() -> None:
    """Of the newest problem, with what is lost and what to do, until it works again."""

    async def course(trouble: CollectorTrouble) -> None:
        assert trouble.list_hints() == ()
        trouble.record_failure("status 503")
        await anyio.sleep(HINT_AFTER_SECONDS - 1)
        trouble.record_failure("status 401, who are you?")
        assert trouble.list_hints() == ()
        await anyio.sleep(61)
        (hint,) = trouble.list_hints()
        assert hint == (
            "the collector at c:4318 has not accepted traces for 6 minutes (status 401, who are"
            " you?); check it and the OTEL_EXPORTER_OTLP_ settings. It gets them later"
        )
        trouble.record_success()
        assert trouble.list_hints() == ()
        trouble.record_failure("status 503")
        assert trouble.list_hints() == ()

    in_virtual_time(course)


def test_log_has_a_line_for_each_change() -> None:
    """Not for each try."""

    async def course(trouble: CollectorTrouble) -> None:
        trouble.record_success()
        for problem in ("a", "a", "a", "b", "b"):
            trouble.record_failure(problem)
        trouble.record_success()
        trouble.record_success()

    with capture_logs() as lines:
        in_virtual_time(course)
    assert [(line["event"], line.get("problem")) for line in lines] == [
        *(("collector_failed", "a"), ("collector_failed", "b"), ("collector_works", None))
    ]
