"""``orchestrator check``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.agentsfile import Problem
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.config_examination import examine_config
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import format_count, print_text
from orchestrator.cli.tables import print_json
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import ExitCode

app = make_command_group()


class CheckReport(CamelModel):
    """The output of ``check --json``: the number of valid parts, and every problem."""

    file: str
    agents: int
    bindings: int
    problems: tuple[Problem, ...]


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
    """Check agents.json, the prompts and the skills, and list every problem."""
    settings = load_settings(home)
    file = path or settings.find_agents_file()
    found = examine_config(settings, file)
    usable, problems = found.file, found.problems
    agents = 0 if usable is None else len(usable.agents)
    bindings = 0 if usable is None else len(usable.bindings)
    if as_json:
        report = CheckReport(file=str(file), agents=agents, bindings=bindings, problems=problems)
        print_json(report)
    else:
        for problem in problems:
            print_text(str(problem))
        own = [problem for problem in problems if problem.file in {file.name, str(file)}]
        others = [problem for problem in problems if problem not in own]
        usual = f"{format_count(agents, 'agent')}, {format_count(bindings, 'binding')}"
        parts = "cannot be used" if usable is None else usual
        typer.echo(f"{file.name}: {parts}, {_format_counts(own)}")
        if others:
            typer.echo(f"other files: {_format_counts(others)}")
    errors = any(problem.severity == "error" for problem in problems)
    raise typer.Exit(ExitCode.CONFIG if errors else ExitCode.OK)


def _format_counts(problems: Sequence[Problem]) -> str:
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    found = format_count(errors, "error")
    return f"{found}, {format_count(warnings, 'warning')}" if warnings else found
