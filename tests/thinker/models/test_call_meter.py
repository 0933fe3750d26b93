"""What a model call is measured to take."""

from itertools import count

import pytest

from thinker.models.call_meter import CallMeter
from thinker.worker_errors import FatalModelError


def measured() -> CallMeter:
    """A meter whose clock goes on by one with each look."""
    ticks = count()
    return CallMeter(lambda: next(ticks))


def test_call_without_a_provider_has_no_attempt() -> None:
    """The demo model's."""
    timing = measured().build_timing()
    assert (timing.began, timing.ended, timing.attempts, timing.sent) == (0, 1, (), 0)


def test_first_event_of_a_failed_attempt_does_not_count() -> None:
    """Its text was not the answer's."""
    meter = measured()

    def cut() -> None:
        with meter.measure_attempt("a/b", b"12345"):
            meter.record_event()
            raise FatalModelError("a cut its answer short: the secret text")

    with pytest.raises(FatalModelError):
        cut()
    with meter.measure_attempt("c/d", b"12345"):
        pass
    timing = meter.build_timing()
    assert timing.first is None
    assert [attempt.error for attempt in timing.attempts] == ["a cut its answer short", ""]
    assert timing.sent == 10


def test_attempt_that_is_cancelled_is_recorded() -> None:
    """A deadline ends it."""
    meter = measured()
    with pytest.raises(KeyboardInterrupt), meter.measure_attempt("a/b", b"12345"):
        raise KeyboardInterrupt
    (attempt,) = meter.build_timing().attempts
    assert attempt.error == "it was given up"
