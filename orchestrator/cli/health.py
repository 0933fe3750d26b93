"""``orchestrator health``."""

from typing import Annotated

import typer

from orchestrator.cli._client import ask
from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import escaped
from orchestrator.cli._prose import say
from orchestrator.control.protocol import HEALTH, HealthReport
from orchestrator.errors import ExitCode

app = command_group()


@app.command()
def health(
    *,
    ready: Annotated[
        bool,
        typer.Option("--ready", help="Exit 1 unless messages are received, stored and answered."),
    ] = False,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Report whether the running daemon is alive and ready.

    The exit code is 0 when it answers; with --ready it is 1 when it is alive but not ready.
    """
    report = ask(load_settings(home), HEALTH, None, HealthReport)
    if as_json:
        typer.echo(escaped(report.model_dump_json(by_alias=True)))
    else:
        typer.echo("ready" if report.ready else "alive, not ready")
        for line in (*report.reasons, *report.notes):
            say(line)
    if ready and not report.ready:
        raise typer.Exit(ExitCode.FAILED)
