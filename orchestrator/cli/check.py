"""``orchestrator check``."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestrator import keys_file
from orchestrator.agentsfile import AgentsFileError, Problem, load
from orchestrator.agentsfile.exposure import exposed
from orchestrator.cli._direct_journal import moved_chats
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import count, escaped, printable
from orchestrator.cli.prompt.listing import library
from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import ConfigProblem
from orchestrator.errors import ExitCode

app = command_group()


class CheckReport(CamelModel):
    """What ``check --json`` prints: how many parts are valid, and every problem."""

    file: str
    agents: int
    bindings: int
    problems: tuple[ConfigProblem, ...]


@app.command()
def check(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="File to check (default: the one `run` would use)."),
    ] = None,
    *,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Check agents.json and the prompts, and list every problem."""
    settings = load_settings(home)
    file = path or settings.agents_file()
    keys = keys_file.read(settings.home, os.environ)
    agents = bindings = 0
    secrets: tuple[str, ...] = ()
    try:
        loaded = load(file, keys.under(os.environ), moved_chats(settings), settings.home)
        found = library(settings, loaded.file)
        problems: Sequence[Problem] = (*loaded.problems, *found.problems)
        agents, bindings = len(loaded.file.agents), len(loaded.file.bindings)
        secrets = loaded.secrets
    except AgentsFileError as error:
        problems = error.problems
    paths = settings.paths
    others = (paths.http_token, paths.api_token, settings.home / ".env")
    problems = (*problems, *exposed(file, secrets, others), *keys.problems)
    if as_json:
        shown = tuple(ConfigProblem.model_validate(vars(problem)) for problem in problems)
        report = CheckReport(file=str(file), agents=agents, bindings=bindings, problems=shown)
        typer.echo(escaped(report.model_dump_json(by_alias=True, indent=2)))
    else:
        for problem in problems:
            typer.echo(printable(str(problem)))
        typer.echo(_summary(file.name, agents, bindings, problems))
    errors = any(problem.severity == "error" for problem in problems)
    raise typer.Exit(ExitCode.CONFIG if errors else ExitCode.OK)


def _summary(file: str, agents: int, bindings: int, problems: Sequence[Problem]) -> str:
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    parts = [count(agents, "agent"), count(bindings, "binding"), count(errors, "error")]
    if warnings:
        parts.append(count(warnings, "warning"))
    return f"{file}: {', '.join(parts)}"
