"""``orchestrator run`` with options; `quick` runs it without them."""

from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Config, Home, LogLevel
from thinker.http.optional_imports import block_imports

with block_imports("rich", "click"):  # optional extras of others: a tenth of the daemon's start-up
    from orchestrator.cli.daemon_start import start_daemon

app = make_command_group()


@app.command()
def run(
    *,
    config: Config = None,
    home: Home = None,
    log_level: Annotated[
        LogLevel | None, typer.Option(help="Lowest level of log lines to write (default: info).")
    ] = None,
) -> None:
    """Run the daemon in the foreground until SIGTERM or Ctrl-C."""
    raise typer.Exit(start_daemon(home, config, log_level))
