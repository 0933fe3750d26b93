"""The page of the manual that describes the command line; part of scripts/reference."""

from collections.abc import Iterator
from typing import Any

import typer
from commandwords import COMMANDS
from markdowntable import table

from orchestrator.cli.commands import GROUPS, import_app
from orchestrator.inbound.commands import list_chat_commands, list_help_lines

JSON = ["--json"]


AGENTS = "Agents"  # the group with a page of its own: all were more than a model reads
AGENTS_PAGE = "agent-commands"


def commands() -> Iterator[str]:
    """Every command and subcommand but those of `AGENTS`, and those of chats."""
    yield "# Commands"
    yield ""
    yield (
        "Every command of `orchestrator`, as `orchestrator COMMAND --help` shows it; those of a"
        " chat are at the end. See also [exit-codes](exit-codes.md). Commands that use a home take"
        " `--home` `PATH` (default: ORCHESTRATOR_HOME or ~/.orchestrator); `[--json]` prints JSON."
    )
    yield ""
    for title in GROUPS:
        page = f"{AGENTS_PAGE}.md" if title == AGENTS else ""
        links = (f"[`{name}`]({page}#orchestrator-{name})" for name in list_names(title))
        yield f"- {title}: {', '.join(links)}"
    yield ""
    for title in GROUPS:
        yield from () if title == AGENTS else describe_group(title)
    yield "## Chat commands"
    yield ""
    yield (
        "The daemon answers at once, without a model, also while the agent is busy. The"
        " [role](channels.md) `talk` may use"
        f" {_list_names('talk')}; `approve` also {_list_names('approve')}; `operate` all."
    )
    yield ""
    yield from table(
        ("command", "what it does"),
        [(f"`/{name}`", text) for name, text in list_help_lines().items()],
    )


def agent_commands() -> Iterator[str]:
    """Every command and subcommand of `AGENTS`."""
    yield "# Commands for agents"
    yield ""
    yield "The commands about agents and their turns; all others are in [commands](commands.md)."
    yield ""
    yield from describe_group(AGENTS)


def list_names(title: str) -> list[str]:
    """Return the commands of a group."""
    return [name for name, one in COMMANDS.items() if one.group == title]


def describe_group(title: str) -> Iterator[str]:
    """Return the commands of a group, each with those below it."""
    for name in list_names(title):
        yield f"## orchestrator {name}"
        yield ""
        app = typer.main.get_command(import_app(COMMANDS[name]))
        yield from describe_command(f"orchestrator {name}", app)


def _list_names(role: str) -> str:
    return ", ".join(f"`/{name}`" for name, one in list_chat_commands().items() if one.role == role)


def describe_command(path: str, command: Any) -> Iterator[str]:  # noqa: ANN401 - typer's click
    """Return a command, and those below it."""
    below = getattr(command, "commands", None) or {}
    for paragraph in (command.help or "").split("\n\n"):
        yield " ".join(paragraph.split())
        yield ""
    if not below:
        yield f"`{usage(path, command)}`"
        yield ""
    lines = [
        f"- {spelling(option)}: {option.help or ''}{preset(option)}"
        for option in command.params
        if option.name != "home" and option.opts != JSON  # told once, above
    ]
    yield from [*lines, ""] if lines else ()
    for name, child in below.items():
        yield f"### {path} {name}"
        yield ""
        yield from describe_command(f"{path} {name}", child)


def usage(path: str, command: Any) -> str:  # noqa: ANN401 - typer's click
    """Return a command line with the arguments in their order."""
    words = [path]
    for option in command.params:
        if not option.opts[0].startswith("-"):
            name = argument(option) + ("…" if option.nargs == -1 else "")
            words.append(name if option.required else f"[{name}]")
    words += ["[--json]"] * any(option.opts == JSON for option in command.params)
    return " ".join(words)


def argument(option: Any) -> str:  # noqa: ANN401 - typer's click
    """Return an argument's name, as ``--help`` shows it."""
    return str(option.metavar or option.name.upper())


def spelling(option: Any) -> str:  # noqa: ANN401 - typer's click
    """How an option is written."""
    if not option.opts[0].startswith("-"):
        return f"`{argument(option)}`"
    names = (*option.opts, *option.secondary_opts)
    return ", ".join(f"`{name}`" if option.is_flag else f"`{name} VALUE`" for name in names)


def preset(option: Any) -> str:  # noqa: ANN401 - typer's click
    """Return what counts when it is left out, behind the meaning."""
    if option.required or option.default in (None, False, (), [], ""):
        return ""
    return f" Default: `{getattr(option.default, 'value', option.default)}`."
