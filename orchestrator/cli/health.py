"""``orchestrator health``."""

from typing import Annotated

import typer

from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.daemon_reports import print_health
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.control.protocol import HEALTH, HealthReport

app = make_command_group()


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
    report = ask_daemon(load_settings(home), HEALTH, None, HealthReport)
    raise typer.Exit(print_health(report, ready=ready, as_json=as_json))
