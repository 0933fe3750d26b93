"""The crash self-test as `orchestrator selftest crash --quick` runs it, on the product as it is."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process


def test_quick_selftest_finds_no_violation() -> None:
    """Kills are really reached and verified, and nothing is lost, doubled or run again."""
    command = (sys.executable, "-P", "-m", "orchestrator", "selftest", "crash", "--quick", "--json")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["violations"] == 0
    phases = {phase["phase"]: phase for phase in report["phases"]}
    special = {"effects", "guarded", "failing", "pairing", "broker", "poison"}
    assert set(phases) == {"every boundary", "pairs", "random", *special}
    singles = phases["every boundary"]
    assert singles["kills"] + singles["not reached"] == singles["histories"]
    assert singles["not reached"] <= 2
