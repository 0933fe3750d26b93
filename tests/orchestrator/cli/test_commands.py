"""The command line as a whole: help, version, errors."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from fakes.command_line import every_command, own_commands
from fakes.control_server import command
from fakes.time_limit import LIMIT

from orchestrator import __version__, installed
from orchestrator.cli import EXAMPLES
from orchestrator.cli.commands import group_commands, import_app, list_commands
from orchestrator.errors import ExitCode
from orchestrator.extension import Command, Extension
from orchestrator.installed import find_installed


@pytest.mark.parametrize("option", ["-h", "--help", ""])
def test_first_screen_has_every_command_in_its_group_and_fits_a_small_terminal(
    option: str, tmp_path: Path
) -> None:
    """80 columns by 24 lines, with room for the next prompt; the examples are commands."""
    shown = command(tmp_path, *filter(None, [option]))
    lines = (shown.stdout or shown.stderr).splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) < 80
    for title, names in group_commands().items():
        assert not names or any(line.startswith(f"{title}  ") for line in lines)
        for name in names:
            assert re.search(rf"[ ,]{name}(,|$)", "\n".join(lines), re.MULTILINE)
    for example in EXAMPLES:
        is_shown = any(line.startswith(f"  {example}  ") for line in lines)
        assert is_shown == (example.split()[1] in list_commands())


@pytest.mark.parametrize("words", [(), *every_command()], ids=" ".join)
def test_help_of_each_command_fits_a_small_terminal(words: tuple[str, ...], tmp_path: Path) -> None:
    """With -h as with --help."""
    shown = command(tmp_path, *words, "-h")
    assert shown.exit_code == 0
    assert shown.stdout == command(tmp_path, *words, "--help").stdout
    lines = shown.stdout.splitlines()
    assert len(lines) <= 24
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("name", own_commands())
def test_summary_is_the_first_line_of_the_commands_own_help(name: str, tmp_path: Path) -> None:
    """The two texts cannot drift apart; each command also answers --help."""
    shown = command(tmp_path, name, "--help")
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[0].startswith(f"Usage: root {name} ")
    known = own_commands()[name]
    assert known.summary in shown.stdout.splitlines()[2]
    assert isinstance(import_app(known), typer.Typer)


def test_version_is_printed(tmp_path: Path) -> None:
    """As in the package."""
    assert command(tmp_path, "--version").stdout == f"orchestrator {__version__}\n"


def test_misspelt_command_is_answered_with_the_nearest_one(tmp_path: Path) -> None:
    """Exit 2, as for every wrong use."""
    refused = command(tmp_path, "statsu")
    assert refused.exit_code == 2
    assert "Did you mean 'status'" in refused.stderr


class Pigeon(Extension):
    """An extension of another distribution, whose module is one of ours."""

    def list_commands(self) -> dict[str, Command]:
        return {
            "coo": Command("Birds", "Say coo.", "orchestrator.cli.health"),
            "status": Command("Run", "Replace a command.", "nowhere"),
            "loft": Command("Run", "Replace another.", "nowhere"),
        }


class Loft(Extension):
    """One of ours."""

    def list_commands(self) -> dict[str, Command]:
        return {"loft": Command("Run", "Show the loft.", "orchestrator.cli.reload")}


def install(monkeypatch: pytest.MonkeyPatch, *, without: str = "") -> None:
    """Install a stranger's extension and one of ours, and delete another of ours."""
    found = find_installed()
    own = {name: one for name, one in found.own.items() if name != without} | {"loft": Loft()}
    changed = found._replace(own=own, foreign={"pigeon": Pigeon()})
    monkeypatch.setattr(installed, "find_installed", lambda: changed)


def test_command_of_a_stranger_is_one_of_all_and_replaces_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the first screen it has a heading of its own."""
    install(monkeypatch)
    assert command(tmp_path, "coo").exit_code == ExitCode.NOT_RUNNING
    assert re.search(r"^Birds +coo$", command(tmp_path).stderr, re.MULTILINE)
    assert list_commands()["status"].module == "orchestrator.cli.status"
    assert list_commands()["loft"].module == "orchestrator.cli.reload"


def test_stranger_that_fails_costs_its_own_commands_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first screen names it."""

    class Raven(Extension):
        name = "raven"

        def list_commands(self) -> dict[str, Command]:
            raise RuntimeError("no feather")

    changed = find_installed()._replace(foreign={"raven": Raven()})
    monkeypatch.setattr(installed, "find_installed", lambda: changed)
    shown = command(tmp_path, "-h")
    assert "extension 'raven' cannot list its commands: RuntimeError: no feather" in shown.stderr
    assert shown.stderr.count("raven") == 1
    assert "status" in shown.stdout


def test_command_of_a_deleted_extension_is_answered_with_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first screen does not offer it."""
    install(monkeypatch, without="terminal")
    refused = command(tmp_path, "chat")
    assert refused.exit_code == 2
    words = " ".join(refused.stderr.split())
    assert "is a command of the extension 'terminal', which is not installed; run: " in words
    assert "pip install --force-reinstall orchestrator-daemon" in words
    assert "chat" not in command(tmp_path).stderr.replace("chats", "")


def test_command_of_the_core_loads_no_extension() -> None:
    """So that it starts at once."""
    program = (
        "import sys, orchestrator.cli as cli\n"
        "try: cli.app(['status', '--help'])\n"
        "except SystemExit: print([n for n in sys.modules if 'orchestrator.extensions' in n])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert done.stdout.splitlines()[-1] == "[]"


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


def test_bundled_extensions_share_a_command_with_subcommands_of_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stranger adds none."""
    folder = "orchestrator.extensions"

    class Shed(Extension):
        def __init__(self, name: str, module: str) -> None:
            self.name = name
            self._module = module

        def list_commands(self) -> dict[str, Command]:
            return {"shed": Command("Run", f"Of {self.name}.", self._module)}

    own = {name: Shed(name, f"{folder}.{name}.commands.shed") for name in ("one", "two")}
    changed = find_installed()._replace(own=own, foreign={"crow": Shed("crow", "crow.shed")})
    monkeypatch.setattr(installed, "find_installed", lambda: changed)
    found = list_commands()["shed"]
    assert (found.module, found.beside) == (
        f"{folder}.two.commands.shed",
        (f"{folder}.one.commands.shed",),
    )
