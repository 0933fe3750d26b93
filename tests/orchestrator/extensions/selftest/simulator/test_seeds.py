"""Seeds: they hold what is promised, repeat themselves, and find seeded bugs."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from crash.mutants import MUTANTS, planted
from fakes.time_limit import time_limit

from orchestrator.extensions.selftest.simulator.seeds import SeedReport, run_seeds

pytestmark = pytest.mark.process
SEEDS = 200  # as many as are tried for a bug
# Bugs, and where the search for a seed that finds them begins: most are found at once.
BUGS = {
    "updates are confirmed before they are stored": 0,
    "a result is stored before its effect": 0,
    "a direct message is sent again blindly": 100,
    "the newest message first": 0,
    "a preview does not wait": 50,
    "open turns are not adopted": 0,
    "a turn that lost its worker is given up": 0,
    "an approval is not used up": 0,
}


async def reports(seeds: range, only: Sequence[int] | None = None) -> dict[int, SeedReport]:
    """What these seeds show, run by two processes."""
    found: dict[int, SeedReport] = {}

    def record(report: SeedReport) -> None:
        found[report.seed] = report

    await run_seeds(seeds, 2, only, None, record)
    return found


async def test_no_seed_breaks_a_promise() -> None:
    """A few dozen, as an example of the ten thousand of a release."""
    found = await reports(range(40))
    assert len(found) == 40
    assert {seed: report.violations for seed, report in found.items() if report.violations} == {}


async def test_seed_may_stop_a_daemon_twice_before_it_hears_of_it() -> None:
    """As with a kernel, a signal that waits already is not sent again."""
    found = await reports(range(2000905, 2000906))
    assert [report.violations for report in found.values()] == [[]]


async def test_seed_repeats_its_history() -> None:
    """Alone as well as after others, and with all of its events named."""
    many = await reports(range(100, 106))
    alone = (await reports(range(105, 106)))[105]
    assert alone.events is not None
    named = (await reports(range(105, 106), [int(number) for number in alone.events]))[105]
    assert {many[105].trace, alone.trace, named.trace} == {alone.trace}
    assert len({report.trace for report in many.values()}) == 6


@pytest.mark.thorough(part="crash")
@pytest.mark.parametrize(("name", "first"), BUGS.items(), ids=BUGS)
async def test_seeded_bug_is_found_by_a_seed(name: str, first: int, tmp_path: Path) -> None:
    """One that `selftest crash` finds by a history of its own."""
    (mutant,) = (mutant for mutant in MUTANTS if mutant.name == name)
    environ = {**os.environ, "PYTHONPATH": str(planted(mutant, tmp_path)), "PYTHONHASHSEED": "0"}
    seeds = str(first), str(first + SEEDS)
    command = (
        sys.executable,
        "-P",
        "-m",
        "orchestrator.extensions.selftest.simulator",
        *seeds,
        "1",
        "all",
    )
    async with await anyio.open_process(command, env=environ, stderr=None) as process:
        assert process.stdout is not None
        lines = BufferedByteReceiveStream(process.stdout)
        with time_limit(3):  # it takes half a minute of a processor
            while not json.loads(await lines.receive_until(b"\n", 1024 * 1024))["violations"]:
                pass
        process.kill()
