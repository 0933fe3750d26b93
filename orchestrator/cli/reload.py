"""``orchestrator reload``."""

import typer

from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Home, load_settings
from orchestrator.cli.output import print_text
from orchestrator.control.protocol import RELOAD, ReloadReport
from orchestrator.errors import ExitCode

app = make_command_group()


@app.command()
def reload(*, home: Home = None) -> None:
    """Make the daemon reread agents.json now.

    The daemon also does this by itself when the file changes.
    """
    report = ask_daemon(load_settings(home), RELOAD, None, ReloadReport)
    for problem in report.problems:
        print_text(str(problem))
    typer.echo("applied" if report.applied else "refused; the previous configuration stays in use")
    raise typer.Exit(ExitCode.OK if report.applied else ExitCode.CONFIG)
