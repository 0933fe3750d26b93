"""The fuzzer's targets, a little of each at every run, and the fuzzer itself."""

import signal
import subprocess
from pathlib import Path

import pytest
from fakes.time_limit import LIMIT
from fuzzing.run import Fuzzer, HangError, bounded
from fuzzing.target import SMALL, Target, check_cost
from fuzzing.targets import TARGETS
from hypothesis import strategies as st

SCRIPT = Path(__file__).parent.parent / "scripts" / "fuzz"


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_target_keeps_its_promises(name: str) -> None:
    """The same inputs every time; scripts/fuzz takes others, and longer."""
    failure = Fuzzer(TARGETS[name], 1).round(inputs=60, costs=0)
    assert failure is None, failure


def test_smallest_failing_input_is_found() -> None:
    """A promise that some inputs break."""

    def check(number: int) -> None:
        assert number < 10

    target = Target(st.integers(), check, st.just(""), lambda _unit, _size: lambda: None)
    failure = Fuzzer(target, 1).round(costs=0)
    assert failure is not None
    assert (failure.kind, failure.value) == ("promise", 10)


@pytest.mark.parametrize(("power", "linear"), [(1, True), (2, False)])
def test_cost_that_grows_with_the_square_is_found(power: int, *, linear: bool) -> None:
    """By a clock that counts work, so that nothing of it is chance."""
    done = 0.0

    def work(size: int) -> None:
        nonlocal done
        done += (size / SMALL) ** power

    try:
        check_cost(lambda _unit, size: lambda: work(size), "", lambda: done)
        found = True
    except AssertionError:
        found = False
    assert found is linear


def test_input_without_an_end_is_a_failure() -> None:
    """It is ended where it stands."""
    with pytest.raises(HangError, match=r"no end within 0\.01 seconds"), bounded(0.01):
        signal.pause()


@pytest.mark.process
def test_script_says_how_far_it_came() -> None:
    """One round at least, and exit code 0 when nothing was found."""
    command = [str(SCRIPT), "includes", "--minutes", "0.001", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "includes: 500 inputs, 10 costs" in done.stdout
