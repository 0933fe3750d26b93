"""The bench of the peers, with peers that are there, cannot start, and cannot be installed."""

import json
import os
import select
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.inspection import may_look_inside

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "bench_peers"
FAKE = ROOT / "tests" / "fakes" / "peer_program.py"


def installed(folder: Path, name: str, script: str) -> None:
    """Put a program where the bench has installed a peer."""
    program = folder / name / "bin" / name
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o755)
    (folder / name / "installed").write_text("9.9", "utf-8")


def ended(pid: int) -> bool:
    """Return whether a process has ended, reaped or not."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    readable, _, _ = select.select([process], [], [], 0)
    os.close(process)
    return bool(readable)


@pytest.mark.process
@pytest.mark.thorough(part="operations")
def test_peers_are_measured_or_reported_with_the_reason_and_none_is_left(tmp_path: Path) -> None:
    """One that works has figures and ratios; of the others nothing is made up."""
    child = tmp_path / "child"
    fake = shlex.join([sys.executable, str(FAKE), str(child)])
    installed(tmp_path, "nanobot", f'exec {fake} "$@"')
    installed(tmp_path, "hermes", "echo out of order; exit 3")
    (tmp_path / "openclaw").write_text("in the way of the installation", "utf-8")
    command = [sys.executable, str(SCRIPT), "0.1", "--rounds", "1", "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    *figures, about = lines
    assert about["contestants"]["nanobot"]["version"] == "9.9"
    assert about["contestants"]["hermes"]["failed"] == "ended at its start: out of order"
    assert about["contestants"]["openclaw"]["failed"]
    assert {figure["figure"] for figure in figures} >= {"message_ms", "ready_ms", "idle_pss_mb"}
    hidden = [] if may_look_inside() else ["idle_rss_mb", "idle_pss_mb"]
    assert ("unmeasured" in about["contestants"]["orchestrator"]) == bool(hidden)
    for figure in figures:
        if figure["figure"] in hidden:
            assert list(figure["values"]) == ["nanobot"]
            continue
        values, ratio = figure["values"], figure["ratio"]["orchestrator"]
        assert "nanobot" in values, (figure, about)
        # Each of the three figures is rounded to four digits.
        assert ratio["nanobot"] == pytest.approx(values["orchestrator"] / values["nanobot"], 2e-3)
        assert list(ratio) == ["nanobot"]
        assert not values.keys() & {"hermes", "openclaw"}
    assert ended(int(child.read_text("ascii")))
