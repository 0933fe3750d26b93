"""``orchestrator restore``."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.backups.restore import restore_backup
from orchestrator.cli._options import Home, command_group, load_settings
from orchestrator.cli._output import printable
from orchestrator.journal_address import DatabaseServer
from orchestrator.system.start_block import home_option

app = command_group()


@app.command()
def restore(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file of orchestrator backup.")],
    *,
    replace: Annotated[
        bool, typer.Option("--replace", help="Move a home that is there aside, and keep it.")
    ] = False,
    home: Home = None,
) -> None:
    """Make a home from a backup, after checking all of it.

    A backup of an older version is brought to this one. The daemon must be stopped. A home that is
    used is refused, unless --replace moves it aside. The exit code is 75 when a daemon runs.
    """
    settings = load_settings(home)
    report = restore_backup(settings, path, replace=replace)
    manifest = report.manifest
    typer.echo(f"restored  {report.home}")
    typer.echo(f"from a backup of {manifest.made}, made by version {printable(manifest.version)}")
    if isinstance(settings.journal, DatabaseServer):
        typer.echo(_of_server(settings.journal, in_backup=report.schema is not None))
    elif report.schema is None:
        typer.echo("it had no journal, so the daemon begins a new one")
    elif report.schema != manifest.schema:
        typer.echo(f"journal   brought from schema {manifest.schema} to {report.schema}")
    if report.aside is not None:
        typer.echo(f"old home  {report.aside}")
    if report.keys:
        typer.echo(f"keys      taken over from the old home: {', '.join(report.keys)}")
    elif not manifest.keys:
        typer.echo("keys      not in the backup; set them again before the start")
    typer.echo("Messages that came after the backup are not known; Telegram does not repeat them.")
    option = home_option(str(report.home))
    typer.echo(f"Next: orchestrator check{option}, then orchestrator run{option}")


def _of_server(server: DatabaseServer, *, in_backup: bool) -> str:
    """Say what became of a journal that is in a database."""
    kept = f"journal   in {server}, which was left as it is; a pg_dump of it: pg_restore"
    return f"{kept}. That of the backup is a file, and not used" if in_backup else kept
