"""The words of the command line, for completion in a shell; part of scripts/reference."""

import json
from typing import Any

import typer

from orchestrator.cli.commands import group_commands, import_app
from orchestrator.extensions.command_completion import shell_completion
from orchestrator.home_paths import find_bundled_path
from orchestrator.installed import find_installed
from orchestrator.manual import MANUAL
from thinker.formats.prompts.definition_files import scan_definitions

COMMANDS = {
    name: one
    for group in group_commands().values()
    for name, one in group.items()
    if one.module.startswith("orchestrator.")  # not those of a stranger's extension
}


def command_words() -> str:
    """Return every command with its options and arguments, and the values that never change."""
    commands = {
        name: {**describe_command(typer.main.get_command(import_app(one))), "help": one.summary}
        for name, one in COMMANDS.items()
    }
    root = {"-h": ["", "Show the help."], "--help": ["", "Show the help."]}
    agents = json.loads((find_bundled_path("config") / "agents.json").read_text("utf-8"))["agents"]
    words = {
        "options": root | {"--version": ["", "Print the version."]},
        "arguments": [],
        "commands": commands,
        "extensions": {
            name: extension.name
            for extension in find_installed().own.values()
            for name in extension.list_commands()
        },
        "values": {
            "AGENT": [agent["agentId"] for agent in agents],
            "NAME": sorted(scan_definitions([find_bundled_path("prompts")])[0]),
            "SHELL": list(shell_completion.SCRIPTS),
            "TOPIC": sorted(
                path.stem for path in (find_bundled_path("skills") / MANUAL).glob("*.md")
            ),
        },
    }
    return json.dumps(words, indent=1, ensure_ascii=False) + "\n"


def describe_command(command: Any) -> dict[str, Any]:  # noqa: ANN401 - typer's click
    """Return a command's help, options and arguments, and the commands below it."""
    node: dict[str, Any] = {
        "help": " ".join((command.help or "").partition("\n\n")[0].split()),
        "options": {"-h": ["", "Show the help."], "--help": ["", "Show the help."]},
        "arguments": [],
    }
    for param in command.params:
        if not param.opts[0].startswith("-"):
            node["arguments"].append(param.metavar or param.name.upper())
            continue
        for name in (*param.opts, *param.secondary_opts):
            kind = "" if param.is_flag else param.metavar or param.name.upper()
            node["options"][name] = [kind, param.help or ""]
    below = getattr(command, "commands", None)
    if below:
        node["commands"] = {name: describe_command(child) for name, child in below.items()}
    return node
