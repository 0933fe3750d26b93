"""``orchestrator selftest attacks`` where it starts nothing: wrong choices."""

from pathlib import Path

import pytest
from fakes.control_server import command

from orchestrator.errors import ExitCode


@pytest.mark.parametrize(
    ("only", "message"),
    [("(", "is not a regular expression"), ("nothing-has-this", "no attack has")],
)
def test_choice_without_attacks_is_refused(only: str, message: str, tmp_path: Path) -> None:
    """Before anything is started."""
    refused = command(tmp_path, "selftest", "attacks", "--only", only)
    assert refused.exit_code == ExitCode.CONFIG
    assert message in refused.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--all",), "no effect without --suite agentdojo"),
        (("--suite", "agentdojo", "--only", "quoting"), "no effect with --suite agentdojo"),
    ],
)
def test_options_of_the_other_suite_are_refused(
    options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    """Before anything is started."""
    refused = command(tmp_path, "selftest", "attacks", *options)
    assert refused.exit_code == ExitCode.CONFIG
    assert message in refused.stderr


def test_agentdojo_that_is_not_installed_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is downloaded by the self-test."""
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    refused = command(tmp_path, "selftest", "attacks", "--suite", "agentdojo")
    assert refused.exit_code == ExitCode.CONFIG
    assert f"-m venv {tmp_path}/agentdojo" in refused.stderr
