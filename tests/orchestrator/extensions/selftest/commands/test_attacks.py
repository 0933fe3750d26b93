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
