"""``orchestrator selftest`` where it starts nothing: wrong histories."""

from pathlib import Path

import pytest
from fakes.control_server import command

from orchestrator.errors import ConfigError, ExitCode
from orchestrator.extensions.postgresql import extension
from orchestrator.extensions.selftest.commands.node_trials import choose_faults
from orchestrator.extensions.selftest.nodes.node_faults import ALL_WORK, FAULTS


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


@pytest.mark.parametrize("history", ["flood", "supervisor@plan:before#2"])
def test_fault_of_nodes_that_there_is_not_is_refused(history: str, tmp_path: Path) -> None:
    """With those that there are."""
    refused = command(tmp_path, "selftest", "crash", "--nodes", "3", "--history", history)
    assert refused.exit_code == ExitCode.CONFIG
    assert ", ".join(FAULTS) in " ".join(refused.stderr.split())


def test_all_faults_of_nodes_that_all_work_are_chosen_by_one_option() -> None:
    """One of them may be named without the beginning that they share."""
    every = choose_faults(None, all_work=True, quick=False)
    assert len(every) > len(choose_faults(None, all_work=True, quick=True)) > 0
    assert {name.removeprefix(ALL_WORK) for name in every} > {"kill", "drain", "lack", "budget"}
    assert choose_faults("freeze", all_work=True, quick=False) == ["all-freeze"]
    assert choose_faults("freeze", all_work=False, quick=True) == ["freeze"]
    with pytest.raises(ConfigError, match="use all-kill"):
        choose_faults("clocks", all_work=True, quick=False)


@pytest.mark.parametrize("option", [("--seed", "7"), ("--random", "1"), ("--pairs", "1")])
def test_option_that_nodes_do_not_have_is_refused(option: tuple[str, str], tmp_path: Path) -> None:
    """Instead of being left out in silence."""
    refused = command(tmp_path, "selftest", "crash", "--nodes", "3", *option)
    assert refused.exit_code == ExitCode.CONFIG
    assert f"{option[0]} has no effect with --nodes" in " ".join(refused.stderr.split())


@pytest.mark.parametrize("option", [("--all-work",), ("--messages", "5"), ("--sleep", "9")])
def test_option_that_only_nodes_have_is_refused(option: tuple[str, ...], tmp_path: Path) -> None:
    """One daemon alone runs histories in its place."""
    refused = command(tmp_path, "selftest", "crash", *option)
    assert refused.exit_code == ExitCode.CONFIG
    assert f"{option[0]} has no effect without --nodes" in " ".join(refused.stderr.split())


@pytest.mark.parametrize("jobs", ["many", "0", "-1"])
def test_wrong_number_of_jobs_is_refused(
    jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is started."""
    monkeypatch.setenv("SELFTEST_JOBS", jobs)
    refused = command(tmp_path, "selftest", "crash", "--quick")
    assert refused.exit_code == ExitCode.CONFIG
    assert f"SELFTEST_JOBS={jobs}" in refused.stderr


@pytest.mark.parametrize("words", [("crash", "--nodes", "3"), ("simulate", "--nodes")])
def test_nodes_are_refused_where_the_driver_of_their_journal_is_missing(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is started, with what to install."""
    monkeypatch.setattr(extension, "find_spec", lambda _: None)
    refused = command(tmp_path, "selftest", *words)
    assert refused.exit_code == ExitCode.CONFIG
    assert "a journal in PostgreSQL cannot be opened" in " ".join(refused.stderr.split())
