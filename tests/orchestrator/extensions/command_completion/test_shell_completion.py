"""`orchestrator completion`: scripts for shells, and what they ask for."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.control_server import command
from fakes.time_limit import LIMIT

from orchestrator import installed
from orchestrator.installed import find_installed


def completed(home: Path, *words: str, form: str = "bash") -> list[str]:
    """What the last word can become."""
    return command(home, "completion", form, "--", *words).stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("stat",), ["status"]),
        (("--vers",), ["--version"]),
        (("agents", "p"), ["pause"]),
        (("status", "--js"), ["--json"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("help", "exit"), ["exit-codes"]),
        (("send", "home", ""), []),
        (("status", "--home", ""), []),
        (("nonsense", ""), []),
    ],
)
def test_words_are_completed_by_their_place(
    words: tuple[str, ...], found: list[str], tmp_path: Path
) -> None:
    """Commands, subcommands, options, fixed values; where a file belongs the shell decides."""
    assert completed(tmp_path, *words) == found


def test_command_of_a_deleted_extension_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although its words are among those that ship."""
    assert completed(tmp_path, "cha") == ["chat"]
    found = find_installed()
    own = {name: one for name, one in found.own.items() if name != "terminal"}
    monkeypatch.setattr(installed, "find_installed", lambda: found._replace(own=own))
    assert completed(tmp_path, "cha") == []


def test_agents_are_those_of_the_home(tmp_path: Path) -> None:
    """Also after --home; of a broken file the last good version counts."""
    file = json.dumps({"agents": [{"agentId": "home"}, {"agentId": "work"}, {"agentId": "a b"}, 7]})
    (tmp_path / "agents.json").write_text("{", "utf-8")
    (tmp_path / "agents.last-good.json").write_text(
        json.dumps({"agents": [{"agentId": "home"}, {"agentId": "work"}, {"agentId": "a b"}]}),
        "utf-8",
    )
    assert completed(tmp_path, "send", "") == ["home", "work"]
    assert completed(tmp_path, "send", "--chat", "7", "w") == ["work"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "agents.json").write_text(file, "utf-8")
    assert completed(other, "send", "") == ["assistant"]
    assert completed(other, "agents", "pause", "--home", str(tmp_path), "h") == ["home"]


def test_shells_that_show_summaries_get_them(tmp_path: Path) -> None:
    """Each in its own form."""
    assert completed(tmp_path, "stat", form="bash") == ["status"]
    assert completed(tmp_path, "stat", form="zsh")[0].startswith("status:Show ")
    assert completed(tmp_path, "stat", form="fish")[0].startswith("status\tShow ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_asks_the_program_itself(shell: str, tmp_path: Path) -> None:
    """So it stays right after an upgrade."""
    assert f"orchestrator completion {shell} -- " in command(tmp_path, "completion", shell).stdout


def test_unknown_shell_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    """Exit 2."""
    refused = command(tmp_path, "completion", "tcsh")
    assert refused.exit_code == 2
    assert "'tcsh' is not one of bash, zsh, fish" in refused.stderr


@pytest.mark.process
def test_script_for_bash_fills_in_a_command(tmp_path: Path) -> None:
    """In bash itself, with the program on the path."""
    (tmp_path / "orchestrator").write_text(
        f'#!/bin/sh\nexec {sys.executable} -m orchestrator "$@"\n', "utf-8"
    )
    (tmp_path / "orchestrator").chmod(0o755)
    typed = "COMP_WORDS=(orchestrator agents pa); COMP_CWORD=2; _orchestrator"
    line = f'PATH="{tmp_path}:$PATH"; eval "$(orchestrator completion bash)"; {typed}'
    done = subprocess.run(
        ["/bin/bash", "-c", f'{line}; echo "${{COMPREPLY[*]}}"'],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    assert done.stdout == "pause\n"


def test_completing_loads_no_other_command() -> None:
    """So that TAB answers at once."""
    program = (
        "import sys, orchestrator.cli as cli\n"
        "try: cli.app(['completion', 'bash', '--', 'run', ''])\n"
        "except SystemExit: print({'orchestrator.settings', 'rich', 'anyio'} & {*sys.modules})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert done.stdout.splitlines()[-1] == "set()"
