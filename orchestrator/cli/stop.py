"""``orchestrator stop``."""

from typing import Annotated

import typer

from orchestrator.cli._options import Home, command_group, load_settings
from orchestrator.cli._other_user import elsewhere
from orchestrator.errors import NotRunningError, OrchestratorError
from orchestrator.system.home_daemon import daemon_pid, refuse_restarted, terminate

WAIT = 90.0  # seconds: more than the drain and the longest tool call that a stop waits for

app = command_group()


@app.command()
def stop(
    *,
    wait: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="How long to wait for its end.", min=0, max=3600),
    ] = WAIT,
    home: Home = None,
) -> None:
    """Stop the running daemon in order.

    Running turns reach their next step and go on after the next start; replies that are ready go
    out. The exit code is 3 when no daemon runs, and 1 when it still stops after the wait.
    """
    settings = load_settings(home)
    try:
        pid = daemon_pid(settings)
    except NotRunningError as error:
        raise NotRunningError(f"{error}{elsewhere(settings.home)}") from error
    refuse_restarted(pid)
    if not terminate(pid, wait):
        raise OrchestratorError(
            f"the daemon (pid {pid}) still stops after {wait:g} s: a tool call may take long."
            f" Wait for it, or end it at once with: kill -9 {pid}"
        )
    typer.echo(f"stopped the daemon on {settings.home}")
