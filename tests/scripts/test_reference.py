"""The generated pages of the manual."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.command_line import own_commands

from orchestrator.errors import ExitCode
from orchestrator.home_paths import find_bundled_path
from thinker.protocol.env import ThinkerSettings, format_variable_name

SCRIPT = Path(__file__).parents[2] / "scripts" / "reference"
PAGES = find_bundled_path("skills") / "orchestrator-guide" / "references"


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
    text, more = page("commands"), page("agent-commands")
    for name, command in own_commands().items():
        chapter = f"\n## orchestrator {name}\n\n{command.summary}"
        place = "" if chapter in text else "agent-commands.md"
        assert chapter in (more if place else text)
        assert f"[`{name}`]({place}#orchestrator-{name})" in text


def test_every_variable_of_a_worker_and_every_exit_code_is_listed() -> None:
    """With what it means."""
    for name in ThinkerSettings.model_fields:
        assert re.search(
            rf"^\| `{format_variable_name(name)}` \|.*\. \|$", page("environment"), re.MULTILINE
        )
    for code in ExitCode:
        assert f"| `{code.value}` | " in page("exit-codes")
