"""``orchestrator service``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli._options import command_group
from orchestrator.system import systemd_unit

COMMAND = (sys.executable, "-P", "-m", "orchestrator", "run")
NO_NAMESPACES = (
    "this machine does not let you make user namespaces, so the unit leaves out what needs them"
    " (ProtectHome, ProtectSystem, PrivateTmp and others); the daemon's own jails are in force"
)

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
    namespaces = system or systemd_unit.user_namespaces()
    if not namespaces:
        typer.echo(NO_NAMESPACES, err=True)
    if dry_run:
        typer.echo(systemd_unit.render(scope, COMMAND, namespaces=namespaces), nl=False)
        return
    root = Path.home() if user else Path("/")
    for path in systemd_unit.install(scope, COMMAND, root, namespaces=namespaces):
        typer.echo(f"written  {path}")
    typer.echo("\nNext:")
    for step in systemd_unit.next_steps(scope):
        typer.echo(f"  {step}")
