"""``orchestrator stop``."""

from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Home, load_settings
from orchestrator.cli.other_user import describe_other_daemon
from orchestrator.errors import NotRunningError, OrchestratorError
from orchestrator.system.home_daemon import (
    find_daemon_pid,
    require_not_restarted,
    terminate_process,
)

WAIT = 90.0  # seconds: more than the drain and the longest tool call that a stop waits for

app = make_command_group()


@app.command()
def stop(
    *,
    wait: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="How long to wait for the daemon to end.", min=0, max=3600
        ),
    ] = WAIT,
    home: Home = None,
) -> None:
    """Stop the running daemon gracefully.

    Running turns stop at their next step and continue after the next start; finished replies are
    sent. The exit code is 3 if no daemon runs, and 1 if it has not stopped in time.
    """
    settings = load_settings(home)
    try:
        pid = find_daemon_pid(settings)
    except NotRunningError as error:
        raise NotRunningError(f"{error}{describe_other_daemon(settings.home)}") from error
    require_not_restarted(pid)
    if not terminate_process(pid, wait):
        raise OrchestratorError(
            f"the daemon (pid {pid}) is still stopping after {wait:g} s: a tool call may be slow."
            f" Wait, or kill it now with: kill -9 {pid}"
        )
    typer.echo(f"stopped the daemon on {settings.home}")
