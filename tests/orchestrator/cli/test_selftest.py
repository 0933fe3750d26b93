"""``orchestrator selftest`` where it starts nothing: wrong histories."""

from pathlib import Path

import pytest
from fakes.control_server import command

from orchestrator.errors import ExitCode


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
