"""``orchestrator check``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.agentsfile import Problem
from orchestrator.cli._examined import examined
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import count, escaped
from orchestrator.cli._prose import say
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
    """Check agents.json, the prompts and the skills, and list every problem."""
    settings = load_settings(home)
    file = path or settings.agents_file()
    found = examined(settings, file)
    usable, problems = found.file, found.problems
    agents = 0 if usable is None else len(usable.agents)
    bindings = 0 if usable is None else len(usable.bindings)
    if as_json:
        shown = tuple(ConfigProblem.model_validate(vars(problem)) for problem in problems)
        report = CheckReport(file=str(file), agents=agents, bindings=bindings, problems=shown)
        typer.echo(escaped(report.model_dump_json(by_alias=True, indent=2)))
    else:
        for problem in problems:
            say(str(problem))
        own = [problem for problem in problems if problem.file in {file.name, str(file)}]
        others = [problem for problem in problems if problem not in own]
        usual = f"{count(agents, 'agent')}, {count(bindings, 'binding')}"
        parts = "cannot be used" if usable is None else usual
        typer.echo(f"{file.name}: {parts}, {_counted(own)}")
        if others:
            typer.echo(f"other files: {_counted(others)}")
    errors = any(problem.severity == "error" for problem in problems)
    raise typer.Exit(ExitCode.CONFIG if errors else ExitCode.OK)


def _counted(problems: Sequence[Problem]) -> str:
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    return ", ".join([count(errors, "error"), *([count(warnings, "warning")] if warnings else ())])
