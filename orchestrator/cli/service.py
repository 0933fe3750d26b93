"""``orchestrator service``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli._options import command_group
from orchestrator.system import systemd_unit

COMMAND = (sys.executable, "-P", "-m", "orchestrator", "run")

app = command_group("service")


@app.command()
def install(
    *,
    user: Annotated[
        bool, typer.Option("--user", help="Install it for this user, without root.")
    ] = False,
    system: Annotated[
        bool, typer.Option("--system", help="Install it for this machine, as root.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the unit, write nothing.")
    ] = False,
) -> None:
    """Write a systemd unit for the daemon and print the next steps."""
    if user == system:
        raise typer.BadParameter("give either --user or --system")
    scope: systemd_unit.Scope = "user" if user else "system"
    if dry_run:
        typer.echo(systemd_unit.render(scope, COMMAND), nl=False)
        return
    for path in systemd_unit.install(scope, COMMAND, Path.home() if user else Path("/")):
        typer.echo(f"written  {path}")
    typer.echo("\nNext:")
    for step in systemd_unit.next_steps(scope):
        typer.echo(f"  {step}")
