"""The crash self-test as `orchestrator selftest crash --quick` runs it, on the product as it is."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from fakes.postgresql import SERVER, needs_server

pytestmark = [pytest.mark.process, pytest.mark.long]
SPECIAL = {"effects", "guarded", "failing", "pairing", "broker", "poison"}


def quick_selftest(**variables: str) -> dict[str, dict[str, Any]]:
    """The results of each phase; there were no violations."""
    command = (sys.executable, "-P", "-m", "orchestrator", "selftest", "crash", "--quick", "--json")
    environ = {name: value for name, value in os.environ.items() if name != "SELFTEST_STORE"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environ | variables
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["violations"] == 0
    phases = {phase["phase"]: phase for phase in report["phases"]}
    assert set(phases) >= {"every boundary", "pairs", "random", *SPECIAL}
    singles = phases["every boundary"]
    assert singles["kills"] + singles["not reached"] == singles["histories"]
    assert singles["not reached"] <= 2
    return phases


@pytest.mark.thorough(part="crash")
def test_quick_selftest_finds_no_violation() -> None:
    """Kills are really reached and verified, and nothing is lost, doubled or run again."""
    assert "sessions" not in quick_selftest()


@needs_server
@pytest.mark.thorough(part="postgresql")
def test_quick_selftest_on_a_server_finds_no_violation() -> None:
    """So it is with the journal in PostgreSQL, also when the server ends the daemon's sessions."""
    sessions = quick_selftest(SELFTEST_STORE=SERVER)["sessions"]
    assert sessions["kills"] + sessions["not reached"] == sessions["histories"]
    assert sessions["kills"] >= sessions["histories"] // 2
