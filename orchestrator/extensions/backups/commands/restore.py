"""``orchestrator restore``."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Home, load_settings
from orchestrator.cli.output import format_count, make_printable
from orchestrator.extensions.backups.restore import restore_backup
from orchestrator.home_paths import format_home_option
from orchestrator.journal_address import DatabaseServer

app = make_command_group()


@app.command()
def restore(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file of orchestrator backup.")],
    *,
    replace: Annotated[
        bool, typer.Option("--replace", help="Move an existing home aside, and keep it.")
    ] = False,
    home: Home = None,
) -> None:
    """Make a home from a backup, after checking all of it.

    A backup of an older version is upgraded. A home that is in use is
    refused unless --replace moves it aside. The exit code is 75 if a daemon runs.
    """
    settings = load_settings(home)
    report = restore_backup(settings, path, replace=replace)
    manifest = report.manifest
    typer.echo(f"restored  {report.home}")
    typer.echo(
        f"from a backup of {manifest.made}, made by version {make_printable(manifest.version)}"
    )
    if isinstance(settings.journal, DatabaseServer):
        typer.echo(_describe_server_journal(settings.journal, in_backup=report.schema is not None))
    elif report.schema is None:
        typer.echo("it has no journal, so the daemon starts a new one")
    elif report.schema != manifest.schema:
        typer.echo(f"journal upgraded from schema {manifest.schema} to {report.schema}")
    if report.aside is not None:
        typer.echo(f"old home  {report.aside}")
    if report.keys:
        typer.echo(f"keys      taken over from the old home: {', '.join(report.keys)}")
    elif not manifest.keys:
        typer.echo("keys      not in the backup; set them again before the start")
    if report.waiting:
        calls = format_count(report.waiting, "call")
        typer.echo(f"waiting   {calls} for a decision, asked again in the chat or by:")
        typer.echo("          orchestrator approvals list")
    for link in report.links:
        typer.echo(f"left out  {make_printable(link)}, as it leads out of the home; make it again")
    typer.echo(
        "What the old daemon took in after the backup is lost;"
        " what still waits at the chat system comes now."
    )
    option = format_home_option(str(report.home))
    typer.echo(f"Next: orchestrator check{option}, then orchestrator run{option}")


def _describe_server_journal(server: DatabaseServer, *, in_backup: bool) -> str:
    """Describe the journal of a home whose journal is in a database."""
    kept = f"journal   in {server}, which was left as it is; a pg_dump of it: pg_restore"
    return f"{kept}. That of the backup is a file, and not used" if in_backup else kept
