"""Unmodified clients against a real daemon: what the manual's table says is so."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "clients"
PAGE = ROOT / "skills" / "orchestrator-guide" / "references" / "http-api.md"
NOT_INSTALLED = 3


@pytest.mark.process
@pytest.mark.long
@pytest.mark.thorough(part="clients")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a network for Open WebUI's calls")
def test_everything_works_with_every_client_as_the_manual_says(tmp_path: Path) -> None:
    """Each does what its users do; what the table shows was seen."""
    page = shutil.copy(PAGE, tmp_path)
    command = [sys.executable, str(SCRIPT), "--installed", "--page", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == NOT_INSTALLED:
        pytest.skip(done.stderr.strip())
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [line for line in lines if line["no"] is not None] == []
    assert done.returncode == 0, done.stderr
    assert Path(page).read_text("utf-8") == PAGE.read_text("utf-8"), "run scripts/clients --page"


@pytest.mark.process
def test_name_that_no_trial_has_is_refused_with_those_that_there_are() -> None:
    """An empty table would look as if all worked."""
    command = [sys.executable, str(SCRIPT), "--only", "opneai"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("no trial is called 'opneai'; there are ")
    assert done.stdout == ""
