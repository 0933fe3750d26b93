"""Every command of the program, as the program itself knows it."""

from importlib import import_module
from typing import Any

import typer

from orchestrator.cli import COMMANDS


def every_command() -> dict[tuple[str, ...], tuple[str, ...]]:
    """The names of the arguments of each command and subcommand, by its words."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name in COMMANDS:
        command: Any = typer.main.get_command(import_module(f"orchestrator.cli.{name}").app)
        found[name,] = arguments(command)
        for child, below in getattr(command, "commands", {}).items():
            found[name, child] = arguments(below)
    return found


def arguments(command: Any) -> tuple[str, ...]:
    """The names of a command's arguments."""
    return tuple(str(p.metavar) for p in command.params if not p.opts[0].startswith("-"))
