"""Nothing is installed whose bytes are not known."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = {"hatchling", "editables"}  # what makes an editable install of the checkout


@pytest.mark.parametrize("lock", ["runtime.lock", "all.lock", "dev.lock", "clients.lock"])
def test_every_package_is_locked_with_a_hash(lock: str) -> None:
    """The build backend and what it needs too."""
    entries = re.split(r"\n(?=\S)", (ROOT / ".ci" / lock).read_text("utf-8").strip())
    pinned = [
        re.match(r"([\w.-]+)==\S+ .*--hash=sha256:[0-9a-f]{64}", e, re.DOTALL) for e in entries
    ]
    assert all(pinned)
    if lock != "clients.lock":
        assert {found[1] for found in pinned if found} >= BUILD


def test_packages_of_node_are_locked_with_a_hash_and_no_host() -> None:
    """They come from the registry of the machine."""
    text = (ROOT / "scripts/client_trials/package-lock.json").read_text("utf-8")
    packages = {name: found for name, found in json.loads(text)["packages"].items() if name}
    assert packages
    assert all(found["integrity"].startswith("sha512-") for found in packages.values())
    assert "resolved" not in text


def test_checkout_is_built_with_what_is_locked() -> None:
    """Isolated, a build would download its backend anew, without a hash."""
    script = (ROOT / "scripts/install").read_text("utf-8").replace("\\\n", "")
    builds = [line for line in script.splitlines() if "--editable" in line]
    assert builds
    assert all("--no-build-isolation" in line and "--no-deps" in line for line in builds)
    downloads = [
        line for line in script.splitlines() if "pip install" in line and line not in builds
    ]
    assert downloads
    assert all("--require-hashes" in line for line in downloads)


@pytest.mark.process
@pytest.mark.parametrize("script", ["vectors", "fuzz"])
def test_half_made_environment_is_finished_before_it_is_used(script: str, tmp_path: Path) -> None:
    """Pytest is there long before the last package; the stamp is written at the end."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / script, tmp_path / "scripts")
    tools = tmp_path / ".venv" / "bin"
    tools.mkdir(parents=True)
    install = tmp_path / "scripts" / "install"
    for path in (tools / "pytest", tools / "python", install):
        path.write_text('#!/bin/sh\necho "$(basename "$0") $*"\n', "utf-8")
        path.chmod(0o755)
    whole = tmp_path / ".venv" / "dev.lock.installed"
    for stamped, installs in ((False, True), (True, False)):
        whole.touch() if stamped else whole.unlink(missing_ok=True)
        run = [str(tmp_path / "scripts" / script), "x"]
        done = subprocess.run(run, capture_output=True, text=True, check=True, timeout=60)
        assert ("install --dev" in done.stderr) is installs
        assert "python -m" in done.stdout


def test_installation_that_breaks_off_leaves_no_stamp() -> None:
    """The one of before is removed first."""
    lines = (ROOT / "scripts" / "install").read_text("utf-8").splitlines()
    [removed] = [n for n, line in enumerate(lines) if line.startswith("rm -f .venv/*.installed")]
    first = min(n for n, line in enumerate(lines) if " venv " in line and "venv --quiet" in line)
    [written] = [n for n, line in enumerate(lines) if line.startswith('state "$lock" > ".venv/')]
    assert removed < first < written
