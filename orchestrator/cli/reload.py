"""``orchestrator reload``."""

import typer

from orchestrator.cli._client import ask
from orchestrator.cli._options import Home, command_group, load_settings
from orchestrator.cli._prose import say
from orchestrator.control.protocol import RELOAD, ReloadReport
from orchestrator.errors import ExitCode

app = command_group()


@app.command()
def reload(*, home: Home = None) -> None:
    """Make the daemon read agents.json again now.

    It also does so by itself whenever the file changes.
    """
    report = ask(load_settings(home), RELOAD, None, ReloadReport)
    for problem in report.problems:
        say(str(problem))
    typer.echo("applied" if report.applied else "refused; the previous configuration stays in use")
    raise typer.Exit(ExitCode.OK if report.applied else ExitCode.CONFIG)
