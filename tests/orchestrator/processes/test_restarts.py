"""Back-off, quarantine and probes, as pure functions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.processes import restarts
from orchestrator.processes.restarts import (
    CAP,
    HEALTHY,
    INTENSITY,
    PERIOD,
    PROBE,
    ExitKind,
    History,
    WorkerState,
)

FAILURES = (ExitKind.CRASH, ExitKind.HANG, ExitKind.OOM)
HELD = (WorkerState.BACKOFF, WorkerState.QUARANTINED, WorkerState.FATAL)


def life(
    history: History, start: float, length: float, kind: ExitKind, jitter: float = 1.0
) -> History:
    """One process from its start to its end."""
    running = restarts.record_ready(restarts.record_start(history, start))
    return restarts.record_exit(
        restarts.record_stopping(running), kind, "why", start + length, jitter
    )


def crashed(times: int, every: float = 1.0) -> History:
    """An agent whose worker crashed so often, ``every`` seconds apart."""
    history = History()
    for number in range(times):
        history = life(history, number * every, 0.0, ExitKind.CRASH)
    return history


def test_figures_are_those_of_the_contract() -> None:
    """Exit status, signals and requests decide together."""
    figures = (PERIOD, INTENSITY, CAP, HEALTHY, PROBE, restarts.EXIT_CONFIG)
    assert figures == (300, 5, 60, 600, 900, 78)
    assert [restarts.compute_backoff(n) for n in range(10)] == [0, 0, 1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize(
    ("code", "flags", "kind"),
    [
        (0, {}, ExitKind.CLEAN),
        (78, {}, ExitKind.CONFIG),
        (75, {}, ExitKind.CRASH),
        (1, {}, ExitKind.CRASH),
        (-9, {}, ExitKind.CRASH),
        (-9, {"oom": True}, ExitKind.OOM),
        (-6, {"hung": True}, ExitKind.HANG),
        (0, {"hung": True}, ExitKind.HANG),
        (-15, {"stop_requested": True}, ExitKind.CLEAN),
        (78, {"stop_requested": True}, ExitKind.CLEAN),
    ],
)
def test_end_of_a_process_is_classified(code: int, flags: dict[str, bool], kind: ExitKind) -> None:
    """A requested end is never a failure."""
    known = {"stop_requested": False, "hung": False, "oom": False} | flags
    assert restarts.classify_exit(code, **known) is kind


def test_delays_double_and_the_first_crash_costs_nothing() -> None:
    """Each with its jitter."""
    waits = []
    for number in range(1, INTENSITY):
        last = float(number - 1)
        history = crashed(number)
        assert history.state is WorkerState.BACKOFF
        waits.append(restarts.find_start_delay(history, last))
    assert waits == [0, 1, 2, 4]
    assert restarts.find_start_delay(life(crashed(2), 2, 0, ExitKind.CRASH, 1.5), 2) == 3


def test_fifth_failure_in_five_minutes_quarantines() -> None:
    """Not when they are spread over more."""
    assert crashed(INTENSITY, (PERIOD - 1) / (INTENSITY - 1)).state is WorkerState.QUARANTINED
    assert crashed(INTENSITY, PERIOD / (INTENSITY - 1)).state is WorkerState.BACKOFF
    quarantined = crashed(INTENSITY)
    assert restarts.find_start_delay(quarantined, 4) == PROBE
    assert quarantined.restarts == INTENSITY


def test_running_out_of_memory_counts_double() -> None:
    """Three of them are enough."""
    history = History()
    for number in range(3):
        assert history.state is not WorkerState.QUARANTINED
        history = life(history, number, 0, ExitKind.OOM)
    assert history.state is WorkerState.QUARANTINED


@given(st.sampled_from(FAILURES), st.floats(0, HEALTHY - 1))
def test_failed_probe_goes_back_into_quarantine(kind: ExitKind, length: float) -> None:
    """At once, even if the earlier failures are long past."""
    probed = life(crashed(INTENSITY), 1000, length, kind)
    assert probed.state is WorkerState.QUARANTINED
    assert restarts.find_start_delay(probed, 1000 + length) == pytest.approx(PROBE)


def test_passed_probe_leads_back_to_normal() -> None:
    """After ten healthy minutes or a requested end, counting starts again."""
    healthy = life(crashed(INTENSITY), 1000, HEALTHY, ExitKind.CRASH)
    assert healthy.state is WorkerState.BACKOFF
    assert restarts.find_start_delay(healthy, 1000 + HEALTHY) == 0
    idle = life(crashed(INTENSITY), 1000, 60, ExitKind.CLEAN)
    assert idle.state is WorkerState.STOPPED
    assert life(idle, 2000, 1, ExitKind.CRASH).state is WorkerState.BACKOFF


def test_misconfigured_agent_waits_for_a_change() -> None:
    """No number of seconds helps; the reason is kept."""
    history = life(History(), 0, 1, ExitKind.CONFIG)
    assert (history.state, history.reason) == (WorkerState.FATAL, "why")
    assert restarts.find_start_delay(history, 1e9) is None
    assert restarts.find_start_delay(restarts.forget_failures(history), 0) == 0


def test_clean_end_is_no_failure() -> None:
    """It is not counted and needs no wait; earlier failures stay counted."""
    history = life(crashed(2), 5, 60, ExitKind.CLEAN)
    assert (history.state, history.reason) == (WorkerState.STOPPED, "")
    assert history.failures == crashed(2).failures
    assert restarts.find_start_delay(history, 0) == 0


@pytest.mark.parametrize("state", WorkerState)
def test_forgiven_agent_may_start_and_a_running_one_keeps_running(state: WorkerState) -> None:
    """An operator's command clears the history; it does not touch the process."""
    history = History(
        state, failures=(1.0,) * 4, retry_at=99, restarts=7, reason="why", probing=True
    )
    after = restarts.forget_failures(history)
    assert after.state is (WorkerState.STOPPED if state in HELD else state)
    assert (after.failures, after.restarts, after.probing) == ((), 7, False)
    assert restarts.find_start_delay(after, 0) == 0


LIVES = st.lists(
    st.tuples(st.floats(0, 2000), st.floats(0, 2000), st.sampled_from(ExitKind)), max_size=30
)


@given(LIVES, st.floats(0.5, 1.5))
def test_any_history_keeps_its_promises(
    lives: list[tuple[float, float, ExitKind]], jitter: float
) -> None:
    """Waits are bounded, failures are recent, and few failures never quarantine."""
    history, now, unclean = History(), 0.0, 0
    for pause, length, kind in lives:
        if history.state is WorkerState.FATAL:
            assert restarts.find_start_delay(history, now) is None
            history = restarts.forget_failures(history)
        wait = restarts.find_start_delay(history, now)
        assert wait is not None
        start = now + wait + pause
        assert restarts.find_start_delay(history, start) == 0
        before = history
        history = life(history, start, length, kind, jitter)
        now = start + length
        unclean += kind in FAILURES
        assert history.restarts == unclean
        assert all(0 <= now - at < PERIOD for at in history.failures) or kind not in FAILURES
        after = restarts.find_start_delay(history, now)
        if history.state is WorkerState.BACKOFF:
            assert after is not None
            assert after <= CAP * 1.5
            assert len(history.failures) < INTENSITY
        if history.state is WorkerState.QUARANTINED:
            assert after == pytest.approx(PROBE)
            assert len(history.failures) >= INTENSITY or before.state is WorkerState.QUARANTINED
