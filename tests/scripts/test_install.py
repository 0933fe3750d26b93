"""Nothing is installed whose bytes are not known."""

import json
import re
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
