"""The bench of the peers, on a machine where none of them can be installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "bench_peers"


@pytest.mark.process
def test_peer_that_cannot_be_installed_is_reported_with_the_reason(tmp_path: Path) -> None:
    """Our figures are there, the peer has none, and no ratio is made up."""
    (tmp_path / "nanobot").write_text("in the way of the installation", "utf-8")
    command = [sys.executable, str(SCRIPT), "1", "--folder", str(tmp_path), "--only", "nanobot"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    *figures, about = lines
    assert "orchestrator" in about["contestants"]
    assert about["contestants"]["nanobot"]["failed"]
    assert {figure["figure"] for figure in figures} >= {"message_ms", "ready_ms", "idle_pss_mb"}
    for figure in figures:
        assert figure["values"]["orchestrator"] > 0
        assert "nanobot" not in figure["values"]
        assert figure["ratio"]["orchestrator"] == {}
