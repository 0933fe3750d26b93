"""Check a proposed agents.json before it is written."""

from collections.abc import Mapping

import typer

from orchestrator.agentsfile import AgentsFileError, Problem, parse_agents_file
from orchestrator.cli.direct_journal import load_moved_chats
from orchestrator.cli.output import make_printable
from orchestrator.errors import ConfigError
from orchestrator.settings import Settings


def require_valid_text(
    settings: Settings, name: str, text: str, environ: Mapping[str, str]
) -> None:
    """Print the problems of the new text like ``check``.

    Raises:
        ConfigError: one of them is an error.
    """
    problems: tuple[Problem, ...]
    try:
        moved = load_moved_chats(settings)
        problems = parse_agents_file(text.encode(), name, environ, moved, settings.home).problems
    except AgentsFileError as error:
        problems = error.problems
    for problem in problems:
        typer.echo(make_printable(str(problem)))
    if any(problem.severity == "error" for problem in problems):
        raise ConfigError("nothing was written; correct this first")
