"""``orchestrator selftest`` where it starts nothing: wrong histories."""

from pathlib import Path

import pytest
from fakes.control_server import command

from orchestrator.errors import ExitCode
from orchestrator.extensions.selftest.nodes.node_faults import FAULTS


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ("supervisor@never", "write supervisor@plan:before#2 or worker@300ms"),
        ("nowhere/worker@5ms", "use standard, effects, guarded, failing, pairing, poison"),
    ],
)
def test_history_that_cannot_be_run_is_refused(history: str, message: str, tmp_path: Path) -> None:
    """Before anything is started, with what to write instead."""
    refused = command(tmp_path, "selftest", "crash", "--history", history)
    assert refused.exit_code == ExitCode.CONFIG
    assert message in refused.stderr


@pytest.mark.parametrize("history", ["flood", "kill#many", "kill#0", "supervisor@plan:before#2"])
def test_fault_of_nodes_that_there_is_not_is_refused(history: str, tmp_path: Path) -> None:
    """With those that there are."""
    refused = command(tmp_path, "selftest", "crash", "--nodes", "3", "--history", history)
    assert refused.exit_code == ExitCode.CONFIG
    known = ", ".join((*FAULTS, "or kill#500"))
    assert known in " ".join(refused.stderr.split())


@pytest.mark.parametrize("option", [("--seed", "7"), ("--random", "1"), ("--pairs", "1")])
def test_option_that_nodes_do_not_have_is_refused(option: tuple[str, str], tmp_path: Path) -> None:
    """Instead of being left out in silence."""
    refused = command(tmp_path, "selftest", "crash", "--nodes", "3", *option)
    assert refused.exit_code == ExitCode.CONFIG
    assert "have no effect with --nodes" in " ".join(refused.stderr.split())


@pytest.mark.parametrize("jobs", ["many", "0", "-1"])
def test_wrong_number_of_jobs_is_refused(
    jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is started."""
    monkeypatch.setenv("SELFTEST_JOBS", jobs)
    refused = command(tmp_path, "selftest", "crash", "--quick")
    assert refused.exit_code == ExitCode.CONFIG
    assert f"SELFTEST_JOBS={jobs}" in refused.stderr
