"""The generated pages of the manual."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.cli import COMMANDS
from orchestrator.errors import ExitCode
from orchestrator.home_paths import bundled
from thinker.protocol.env import ThinkerSettings, variable

SCRIPT = Path(__file__).parents[2] / "scripts" / "reference"
PAGES = bundled("skills") / "orchestrator-guide" / "references"


def page(name: str) -> str:
    """The text of a page."""
    return (PAGES / f"{name}.md").read_text("utf-8")


@pytest.mark.process
def test_generated_pages_are_current() -> None:
    """If not, run scripts/reference."""
    done = subprocess.run(
        [sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("stale: none\n", 0), done.stderr


def test_every_command_has_a_chapter() -> None:
    """With an entry in the list at the beginning."""
    text = page("commands")
    for name, summary in COMMANDS.items():
        assert f"\n## orchestrator {name}\n\n{summary}" in text
        assert f"[`{name}`](#orchestrator-{name})" in text


def test_every_variable_of_a_worker_and_every_exit_code_is_listed() -> None:
    """With what it means."""
    for name in ThinkerSettings.model_fields:
        assert re.search(rf"^\| `{variable(name)}` \|.*\. \|$", page("environment"), re.MULTILINE)
    for code in ExitCode:
        assert f"| `{code.value}` | " in page("exit-codes")
