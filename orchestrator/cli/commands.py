"""Find the commands of the core and of installed extensions, and build each one's application.

A command's module is imported when the command runs. Extensions are looked for only when a word is
not a command of the core.

Where: is a command of the command line found?
"""

import gc
import json
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.output import write_line
from orchestrator.errors import FAULTS, OrchestratorError, describe_fault
from orchestrator.extension import Command

if TYPE_CHECKING:
    import typer

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Set up": {
        "check": "Check agents.json, the prompts and the skills, and list every problem.",
    },
    "Run": {
        "run": "Run the daemon in the foreground until SIGTERM or Ctrl-C.",
        "status": "Show the state of the running daemon.",
        "health": "Report whether the running daemon is alive and ready.",
        "stop": "Stop the running daemon gracefully.",
        "reload": "Make the daemon reread agents.json now.",
    },
    "Talk": {
        "send": "Send one message to an agent, print the reply and exit.",
    },
    "Agents": {},
    "Messages": {},
    "Data": {},
    "More": {},
}
"""The core's commands, keyed by heading on the first screen, each with its summary."""
COMMANDS: Mapping[str, Command] = {
    name: Command(group, summary, f"{__package__}.{name}")
    for group, commands in GROUPS.items()
    for name, summary in commands.items()
}
WORDS = Path(__file__).with_name("words.json")
"""The file with every command of this distribution; scripts/reference writes it."""
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


def find_command(name: str) -> Command | None:
    """Return a command of the core or of an installed extension."""
    return COMMANDS.get(name) or find_extension_commands().get(name)


def find_extension_commands(*, warns: bool = False) -> Mapping[str, Command]:
    """Return the commands of installed extensions, except those named like a bundled one.

    Bundled extensions may share a command, each with subcommands of its own.
    """
    from orchestrator.installed import OWN, find_installed  # noqa: PLC0415 - slow, and seldom needed

    found: dict[str, Command] = {}
    for extension in find_installed().every():
        try:
            added = dict(extension.list_commands())
        except FAULTS as error:
            text = f"extension '{extension.name}' cannot list its commands: {describe_fault(error)}"
            write_line(text, err=True) if warns else None
            continue
        for name, one in added.items():
            known = found.setdefault(name, one)
            if known is not one and one.module.startswith(OWN):
                found[name] = one._replace(beside=(*known.beside, known.module))
    return {name: one for name, one in found.items() if name not in COMMANDS}


def group_commands() -> Mapping[str, Mapping[str, Command]]:
    """Return all commands, keyed by heading, in the order of the first screen."""
    groups: dict[str, dict[str, Command]] = {title: {} for title in GROUPS}
    for name, command in (*COMMANDS.items(), *find_extension_commands(warns=True).items()):
        groups.setdefault(command.group, {})[name] = command
    return groups


def list_commands() -> Mapping[str, Command]:
    """Return all commands, keyed by name, in the order of the first screen."""
    return {name: one for group in group_commands().values() for name, one in group.items()}


def explain_unknown(name: str) -> str:
    """Return a message that a word is not a command, with what to type instead."""
    extension = json.loads(WORDS.read_text("utf-8"))["extensions"].get(name)
    if extension is not None:
        from orchestrator.extras import explain_missing_extension  # noqa: PLC0415 - seldom needed

        return f"{name!r} is a command of {explain_missing_extension(extension)}"
    near = ", ".join(map(repr, get_close_matches(name, list_commands())))
    return f"No such command {name!r}." + (f" Did you mean {near}?" if near else "")


def import_app(command: Command) -> "typer.Typer":
    """Import a command's module with garbage collection off, which saves a fifth of the time."""
    gc.disable()
    try:
        found: typer.Typer = import_module(command.module).app
        for module in command.beside:
            more = import_module(module).app.registered_commands
            found.registered_commands += [
                one for one in more if one not in found.registered_commands
            ]
    except FAULTS as error:
        if command.module.startswith("orchestrator."):
            raise
        raise OrchestratorError(f"repair {command.module}: {describe_fault(error)}") from error
    finally:
        gc.freeze()
        gc.enable()
    return found


def make_command_group(name: str | None = None) -> "typer.Typer":
    """Make the application to which a command's module adds its functions.

    ``name`` is the name of a command with subcommands; without it the module has one command.
    """
    import typer  # noqa: PLC0415 - slow, and `quick` needs none of it

    command = find_command(name) if name else None
    return typer.Typer(
        help=command.summary if command else None,
        callback=(lambda: None) if name else None,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=HELP_OPTIONS,
    )
