"""Every command of the program, as the program itself knows it."""

from typing import Any

import pytest
import typer.main
from fakes.manual import CommandLine
from typer.exceptions import TyperException

from orchestrator.cli.commands import import_app, list_commands
from orchestrator.extension import Command


def own_commands() -> dict[str, Command]:
    """The commands of this distribution; an extension of another may be installed, too."""
    return {n: one for n, one in list_commands().items() if one.module.startswith("orchestrator.")}


def every_command() -> dict[tuple[str, ...], tuple[str, ...]]:
    """The names of the arguments of each command and subcommand, by its words."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name, one in own_commands().items():
        command: Any = typer.main.get_command(import_app(one))
        found[name,] = arguments(command)
        for child, below in getattr(command, "commands", {}).items():
            found[name, child] = arguments(below)
    return found


def arguments(command: Any) -> tuple[str, ...]:
    """The names of a command's arguments."""
    return tuple(str(p.metavar) for p in command.params if not p.opts[0].startswith("-"))


def check_command(line: CommandLine) -> None:
    """Parse a command line as typer does, without running it."""
    first, *words = line.arguments or ("",)
    if first in ("--help", "--version") or set(first) <= {"1", "…"}:
        return
    commands = own_commands()
    assert first in commands, line
    command: Any = typer.main.get_command(import_app(commands[first]))
    while hasattr(command, "commands") and words and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    only_group = hasattr(command, "commands") and not command.invoke_without_command
    if only_group or "--help" in words:
        assert (line.whole, words) in ((False, []), (False, ["--help"])), line
        return
    try:
        command.make_context(first, words)
    except TyperException as error:
        if line.whole or type(error).__name__ != "MissingParameter":
            pytest.fail(f"{line}: {error}")
