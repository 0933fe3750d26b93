"""Check a configuration and print what was found."""

from collections.abc import Sequence
from pathlib import Path

from orchestrator.agentsfile import Problem
from orchestrator.cli.config_examination import examine_config
from orchestrator.cli.loaded_settings import load_settings
from orchestrator.cli.output import format_count, print_text, write_line
from orchestrator.cli.tables import print_json
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import ExitCode


class CheckReport(CamelModel):
    """The output of ``check --json``: the number of valid parts, and every problem."""

    file: str
    agents: int
    bindings: int
    problems: tuple[Problem, ...]


def print_check(home: Path | None, path: Path | None = None, *, as_json: bool = False) -> int:
    """Check agents.json, the prompts and the skills, print every problem, return the exit code."""
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
        write_line(f"{file.name}: {parts}, {_format_counts(own)}")
        if others:
            write_line(f"other files: {_format_counts(others)}")
    errors = any(problem.severity == "error" for problem in problems)
    return ExitCode.CONFIG if errors else ExitCode.OK


def _format_counts(problems: Sequence[Problem]) -> str:
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    found = format_count(errors, "error")
    return f"{found}, {format_count(warnings, 'warning')}" if warnings else found
