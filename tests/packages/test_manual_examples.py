"""The manual's examples of extensions are the packages that are tested here."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.manual import REFERENCES
from fakes.time_limit import LIMIT

PACKAGES = Path(__file__).parent
TEXT = (REFERENCES / "extensions.md").read_text("utf-8")
FILES: dict[str, str] = {
    name: text
    for name, text in re.findall(r"(?ms)^\*\*([\w./]+)\*\*\n\n```\w+\n(.*?)^```$", TEXT)
    if name != "pyproject.toml"
}
ENTRIES = re.findall(r"(?ms)^```toml\n(.*?)^```$", TEXT)


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("tests/")])
def test_a_file_of_the_manual_is_that_of_its_package(name: str) -> None:
    """So it runs: other tests install it."""
    package = name.partition("/")[0].removeprefix("orchestrator_")
    assert (PACKAGES / package / name).read_text("utf-8") == FILES[name]


@pytest.mark.parametrize("package", ["pigeon", "almanac"])
def test_the_manual_shows_how_a_package_is_made(package: str) -> None:
    """Its pyproject.toml, and what the manual adds for tests."""
    text = (PACKAGES / package / "pyproject.toml").read_text("utf-8")
    assert any(entry.startswith(text) for entry in ENTRIES)


@pytest.mark.process
def test_the_world_of_the_manual_tries_a_channel(tmp_path: Path) -> None:
    """As it stands there, with Pigeon installed."""
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--quiet")
    target = tmp_path / "installed"
    command = [sys.executable, "-m", "pip", "install", *offline, "--target", str(target)]
    subprocess.run(
        [*command, str(PACKAGES / "pigeon")], check=True, capture_output=True, timeout=LIMIT
    )
    (tmp_path / "pyproject.toml").write_text(ENTRIES[0])
    test = tmp_path / "test_pigeon.py"
    test.write_text(FILES["tests/test_pigeon.py"])
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", test],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    assert " passed" in ended.stdout
