"""The self-test finds what it is there for: every seeded bug, by its own histories."""

from pathlib import Path

import pytest
from crash.mutants import MUTANTS, ROOT, Mutant, planted
from fakes.time_limit import LIMIT

from orchestrator.extensions.selftest.crash.daemon_process import ForkServer
from orchestrator.extensions.selftest.crash.histories import parse_history
from orchestrator.extensions.selftest.crash.runner import Runner

HANGS = 20.0  # seconds after which a daemon that never settles is ended
pytestmark = pytest.mark.process


def test_seeded_bugs_fit_the_source() -> None:
    """A change to the code that a bug replaces has to adapt the bug."""
    sources = {
        mutant.file: (ROOT / "orchestrator" / mutant.file).read_text("utf-8") for mutant in MUTANTS
    }
    assert [
        mutant.name for mutant in MUTANTS if sources[mutant.file].count(mutant.before) != 1
    ] == []


@pytest.mark.thorough(part="crash")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
async def test_seeded_bug_is_caught(mutant: Mutant, tmp_path: Path) -> None:
    """One of its histories ends with a violation of the promise that it breaks."""
    environ = {"PYTHONPATH": str(planted(mutant, tmp_path / "product"))}
    found: list[str] = []
    within = HANGS if mutant.hangs else LIMIT
    with ForkServer(environ) as server:
        for number, text in enumerate(mutant.histories):
            home = tmp_path / str(number)
            runner = Runner(
                parse_history(text), mutant.scenario, home, environ, within, server.start
            )
            found += [violation.check for violation in (await runner.run()).violations]
            if mutant.found_by in found:
                return
    pytest.fail(f"{mutant.found_by} found nothing; violated were {found}")
