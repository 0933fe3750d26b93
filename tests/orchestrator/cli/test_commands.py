"""The command line as a whole: help, version, errors."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer
from fakes.command_line import every_command
from fakes.control_server import command
from fakes.time_limit import LIMIT

from orchestrator import __version__
from orchestrator.cli import COMMANDS, EXAMPLES, GROUPS
from orchestrator.errors import ExitCode


@pytest.mark.parametrize("option", ["-h", "--help", ""])
def test_first_screen_has_every_command_in_its_group_and_fits_a_small_terminal(
    option: str, tmp_path: Path
) -> None:
    """80 columns by 24 lines, with room for the next prompt; the examples are commands."""
    shown = command(tmp_path, *filter(None, [option]))
    lines = (shown.stdout or shown.stderr).splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) < 80
    for title, names in GROUPS.items():
        assert any(line.startswith(f"{title}  ") for line in lines)
        for name in names:
            assert re.search(rf"[ ,]{name}(,|$)", "\n".join(lines), re.MULTILINE)
    for example in EXAMPLES:
        assert example.split()[1] in COMMANDS


@pytest.mark.parametrize("words", [(), *every_command()], ids=" ".join)
def test_help_of_each_command_fits_a_small_terminal(words: tuple[str, ...], tmp_path: Path) -> None:
    """With -h as with --help."""
    shown = command(tmp_path, *words, "-h")
    assert shown.exit_code == 0
    assert shown.stdout == command(tmp_path, *words, "--help").stdout
    lines = shown.stdout.splitlines()
    assert len(lines) <= 24
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_summary_is_the_first_line_of_the_commands_own_help(name: str, tmp_path: Path) -> None:
    """The two texts cannot drift apart; each command also answers --help."""
    shown = command(tmp_path, name, "--help")
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[0].startswith(f"Usage: root {name} ")
    assert COMMANDS[name] in shown.stdout.splitlines()[2]
    assert isinstance(import_module(f"orchestrator.cli.{name}").app, typer.Typer)


def test_version_is_printed(tmp_path: Path) -> None:
    """As in the package."""
    assert command(tmp_path, "--version").stdout == f"orchestrator {__version__}\n"


def test_misspelt_command_is_answered_with_the_nearest_one(tmp_path: Path) -> None:
    """Exit 2, as for every wrong use."""
    refused = command(tmp_path, "statsu")
    assert refused.exit_code == 2
    assert "Did you mean 'status'?" in refused.stderr


def test_wrong_setting_ends_with_its_name_its_value_and_78(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message goes to stderr, without a traceback."""
    monkeypatch.setenv("ORCHESTRATOR_LOG_LEVEL", "loud")
    refused = command(tmp_path, "run")
    assert refused.exit_code == ExitCode.CONFIG
    assert refused.stderr.startswith("ORCHESTRATOR_LOG_LEVEL: must be 'debug'")
    assert refused.stderr.endswith(", not 'loud'\n")
    assert refused.stdout == ""


def test_wrong_level_is_refused_with_the_name_of_the_option_and_its_value(tmp_path: Path) -> None:
    """Exit 2, as for every wrong use."""
    refused = command(tmp_path, "run", "--log-level", "verbose")
    assert refused.exit_code == 2
    assert "--log-level" in refused.stderr
    assert "'verbose'" in refused.stderr


def test_argument_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 arrive as lone surrogates, which no JSON can carry."""
    refused = command(tmp_path, "send", "work", "caf\udce9")
    assert refused.exit_code == 2
    assert "is not UTF-8 text" in refused.stderr


def test_help_loads_neither_pydantic_nor_rich() -> None:
    """So that it is there at once."""
    program = (
        "import sys, orchestrator.cli as cli\n"
        "try: cli.app(['--help'])\n"
        "except SystemExit: print({'pydantic', 'rich', 'apsw', 'anyio'} & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.process
def test_module_is_the_same_program_and_takes_odd_bytes(tmp_path: Path) -> None:
    """``python -m orchestrator``; without a daemon the message is refused."""
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator", "send", "--home", str(tmp_path), "work", "-"],
        input=b"caf\xe9",
        capture_output=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == ExitCode.NOT_RUNNING
    assert done.stderr.decode().startswith(f"no daemon runs on {tmp_path}")


@pytest.mark.process
def test_run_passes_the_daemons_exit_code_on(tmp_path: Path) -> None:
    """A configuration that cannot start at all is 78."""
    (tmp_path / "agents.json").write_text("{", "utf-8")
    program = (sys.executable, "-m", "orchestrator", "run", "--home", str(tmp_path / "home"))
    done = subprocess.run(
        [*program, "--config", str(tmp_path / "agents.json")],
        capture_output=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == ExitCode.CONFIG
