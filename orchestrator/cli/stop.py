"""``orchestrator stop``."""

from typing import Annotated

import typer

from orchestrator.cli.client import send_order
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Home, load_settings
from orchestrator.cli.other_user import describe_other_daemon
from orchestrator.control.protocol import STOP
from orchestrator.errors import NotRunningError, OrchestratorError
from orchestrator.settings import Settings
from orchestrator.system.home_daemon import (
    find_daemon_pid,
    require_not_restarted,
    terminate_process,
    wait_for_end,
)

WAIT = 90.0  # seconds: more than the drain and the longest tool call that a stop waits for

ELSEWHERE = "end it in the container that it runs in"

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
    ended = terminate_process(pid, wait) if pid else None
    if ended is None:
        pid, ended = 0, _stop_elsewhere(settings, wait)
    if not ended:
        where = f"kill it now with: kill -9 {pid}" if pid else ELSEWHERE
        raise OrchestratorError(
            f"the daemon{f' (pid {pid})' if pid else ''} is still stopping after {wait:g} s: a tool"
            f" call may be slow. Wait, or {where}"
        )
    typer.echo(f"stopped the daemon on {settings.home}")


def _stop_elsewhere(settings: Settings, seconds: float) -> bool:
    """Stop a daemon that no signal of this process reaches; return whether it ended in time."""
    try:
        send_order(settings, STOP, None)
    except NotRunningError:
        if not wait_for_end(settings, 0):
            raise OrchestratorError(
                f"the daemon on {settings.home} runs in another container and does not listen yet,"
                f" or stands by; try again, or {ELSEWHERE}"
            ) from None
    return wait_for_end(settings, seconds)
