"""The words of the command line, for completion in a shell; part of scripts/reference."""

import json
from importlib import import_module
from typing import Any

import typer

from orchestrator.cli import COMMANDS, completion
from orchestrator.cli.help import MANUAL
from orchestrator.home_paths import bundled
from thinker.formats.prompts.definition_files import scan


def command_words() -> str:
    """Return every command with its options and arguments, and the values that never change."""
    commands = {
        name: described(typer.main.get_command(import_module(f"orchestrator.cli.{name}").app))
        for name in COMMANDS
    }
    for name, text in COMMANDS.items():
        commands[name]["help"] = text
    root = {"-h": ["", "Show the help."], "--help": ["", "Show the help."]}
    agents = json.loads((bundled("config") / "agents.json").read_text("utf-8"))["agents"]
    words = {
        "options": root | {"--version": ["", "Print the version."]},
        "arguments": [],
        "commands": commands,
        "values": {
            "AGENT": [agent["agentId"] for agent in agents],
            "NAME": sorted(scan([bundled("prompts")])[0]),
            "SHELL": list(completion.SCRIPTS),
            "TOPIC": sorted(path.stem for path in (bundled("skills") / MANUAL).glob("*.md")),
        },
    }
    return json.dumps(words, indent=1, ensure_ascii=False) + "\n"


def described(command: Any) -> dict[str, Any]:  # noqa: ANN401 - typer's click
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
        node["commands"] = {name: described(child) for name, child in below.items()}
    return node
